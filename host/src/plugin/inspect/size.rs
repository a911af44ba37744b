//! Size of a component's code, counted before it is compiled.
//!
//! The compiler takes about a millisecond for a small function, and its memory grows faster than the size of a large one.
//! A component within these counts still has the limits of `compile`.

use wasmparser::Payload;

use crate::config::{PluginLimits, keys};

/// Functions of all core modules and of the component itself, at any depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    functions: u64,
    /// Bytes of the largest body.
    largest: u64,
}

impl Size {
    pub fn add(&mut self, payload: &Payload<'_>) {
        match payload {
            Payload::CodeSectionStart { count, .. } => self.add_functions(*count),
            Payload::CodeSectionEntry(body) => self.largest = self.largest.max(body.range().len() as u64),
            // The host has a piece of code for each that crosses the border.
            Payload::ComponentCanonicalSection(functions) => self.add_functions(functions.count()),
            _ => {}
        }
    }

    fn add_functions(&mut self, count: u32) {
        self.functions = self.functions.saturating_add(u64::from(count));
    }

    /// A sentence for each limit that it goes over, with the key that raises it.
    pub fn find_objections(&self, plugin: &str, limits: &PluginLimits) -> Vec<String> {
        let Size { functions, largest } = *self;
        let mut reasons = Vec::new();
        if functions > limits.functions {
            let (most, key) = (limits.functions, keys::FUNCTIONS.name);
            reasons.push(format!("has {functions} functions, {plugin} may have {most} (limits.{key})"));
        }
        if largest > limits.function_bytes {
            let (most, key) = (limits.function_bytes, keys::FUNCTION_BYTES.name);
            reasons.push(format!("has a function of {largest} bytes, in {plugin} one may have {most} (limits.{key})"));
        }
        reasons
    }
}
