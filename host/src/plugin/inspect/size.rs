//! Size of a component's code, counted before it is compiled.
//!
//! The compiler takes about a millisecond for a small function, and its memory grows faster than the size of a large
//! one. A few bytes may declare millions of table entries, and nested components that each instantiate the inner one
//! twice make exponentially many instances. A component within these counts still has the limits of `compile`.

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
    /// Upper bound of the instances that one instance of the component makes: each inner component counts as the
    /// largest before it.
    instances: u64,
    /// Instances of each component that is still being read.
    open: Vec<u64>,
}

impl Size {
    pub fn add(&mut self, payload: &Payload<'_>) {
        match payload {
            Payload::CodeSectionStart { count, .. } => add(&mut self.functions, *count),
            Payload::CodeSectionEntry(body) => self.largest = self.largest.max(body.range().len() as u64),
            // The host compiles code for each function that crosses the component's boundary.
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

    /// Returns a sentence for each exceeded limit, with the setting that raises it if there is one.
    pub fn find_exceeded_limits(&self, plugin: &str, limits: &PluginLimits) -> Vec<String> {
        let Size { functions, largest, types, elements, instances, .. } = *self;
        let mut reasons = Vec::new();
        if functions > limits.functions {
            let (max, key) = (limits.functions, keys::FUNCTIONS.name);
            reasons.push(format!("has {functions} functions, {plugin} may have {max} (limits.{key})"));
        }
        if largest > limits.function_bytes {
            let (max, key) = (limits.function_bytes, keys::FUNCTION_BYTES.name);
            reasons.push(format!("has a function of {largest} bytes, in {plugin} one may have {max} (limits.{key})"));
        }
        let fixed = [
            (types, COMPONENT_TYPES_MAX, "types"),
            (elements, COMPONENT_TABLE_ELEMENTS_MAX, "table entries"),
            (instances, COMPONENT_INSTANCES_MAX, "instances of modules and components"),
        ];
        let over = fixed.into_iter().filter(|(count, max, _)| count > max);
        reasons.extend(over.map(|(count, max, what)| format!("has {count} {what}, {max} are the limit")));
        reasons
    }
}

fn add(sum: &mut u64, count: u32) {
    *sum = sum.saturating_add(u64::from(count));
}
