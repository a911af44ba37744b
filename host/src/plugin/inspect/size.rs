//! Size of a component's code, counted before it is compiled.
//!
//! The compiler takes about a millisecond for a small function, and its memory grows faster than the size of a large one. A
//! few bytes may declare millions of table entries, and components that hold each other twice make instances without end.
//! A component within these counts still has the limits of `compile`.

use wasmparser::{ComponentInstance, Payload};

use crate::{
    config::{PluginLimits, keys},
    limits::{COMPONENT_INSTANCES_MAX, COMPONENT_TABLE_ELEMENTS_MAX, COMPONENT_TYPES_MAX},
};

/// Sums over all core modules and components, at any depth.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Size {
    functions: u64,
    /// Bytes of the largest body.
    largest: u64,
    types: u64,
    /// Entries that tables start with.
    elements: u64,
    /// Instances that one instance of the component makes, at most: any component within it counts as the largest before it.
    instances: u64,
    /// Instances of each component that is not read to its end yet.
    open: Vec<u64>,
}

impl Size {
    pub fn add(&mut self, payload: &Payload<'_>) {
        match payload {
            Payload::CodeSectionStart { count, .. } => add(&mut self.functions, *count),
            Payload::CodeSectionEntry(body) => self.largest = self.largest.max(body.range().len() as u64),
            // The host has a piece of code for each that crosses the border.
            Payload::ComponentCanonicalSection(functions) => add(&mut self.functions, functions.count()),
            Payload::TypeSection(types) => add(&mut self.types, types.count()),
            Payload::CoreTypeSection(types) => add(&mut self.types, types.count()),
            Payload::ComponentTypeSection(types) => add(&mut self.types, types.count()),
            Payload::TableSection(tables) => {
                let initial = tables.clone().into_iter().flatten().map(|table| table.ty.initial);
                self.elements = initial.fold(self.elements, u64::saturating_add);
            }
            Payload::Version { .. } => self.open.push(0),
            Payload::InstanceSection(instances) => self.add_instances(u64::from(instances.count())),
            Payload::ComponentInstanceSection(instances) => {
                let largest = self.instances;
                let made = |made: &ComponentInstance<'_>| match made {
                    ComponentInstance::Instantiate { .. } => largest.saturating_add(1),
                    ComponentInstance::FromExports(_) => 1,
                };
                let sum = instances.clone().into_iter().flatten().map(|instance| made(&instance));
                self.add_instances(sum.fold(0, u64::saturating_add));
            }
            Payload::End(_) => {
                let made = self.open.pop();
                self.instances = self.instances.max(made.unwrap_or_default());
            }
            _ => {}
        }
    }

    fn add_instances(&mut self, count: u64) {
        if let Some(made) = self.open.last_mut() {
            *made = made.saturating_add(count);
        }
    }

    /// A sentence for each limit that it goes over, with the key that raises it.
    pub fn find_objections(&self, plugin: &str, limits: &PluginLimits) -> Vec<String> {
        let Size { functions, largest, types, elements, instances, .. } = *self;
        let mut reasons = Vec::new();
        if functions > limits.functions {
            let (most, key) = (limits.functions, keys::FUNCTIONS.name);
            reasons.push(format!("has {functions} functions, {plugin} may have {most} (limits.{key})"));
        }
        if largest > limits.function_bytes {
            let (most, key) = (limits.function_bytes, keys::FUNCTION_BYTES.name);
            reasons.push(format!("has a function of {largest} bytes, in {plugin} one may have {most} (limits.{key})"));
        }
        let fixed = [
            (types, COMPONENT_TYPES_MAX, "types"),
            (elements, COMPONENT_TABLE_ELEMENTS_MAX, "table entries"),
            (instances, COMPONENT_INSTANCES_MAX, "instances of modules and components"),
        ];
        let over = fixed.into_iter().filter(|(count, most, _)| count > most);
        reasons.extend(over.map(|(count, most, what)| format!("has {count} {what}, {most} are the limit")));
        reasons
    }
}

fn add(sum: &mut u64, count: u32) {
    *sum = sum.saturating_add(u64::from(count));
}
