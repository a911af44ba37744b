//! Formats errors of the engine in bounded size: their causes and the backtrace of the component.
//!
//! Names of functions come from the component. The engine's own format of a backtrace decodes C++ names. The size of a
//! decoded name and the time to decode it double with every few bytes. This module never uses that format, and no other
//! code may print an error that the engine returned from a call.

use std::fmt::{self, Write};

use rustc_demangle::try_demangle;
use wasmtime::{FrameInfo, WasmBacktrace};

use crate::limits::{FRAME_NAME_BYTES_MAX, REFUSAL_FRAMES_MAX, REFUSAL_OUTPUT_BYTES_MAX, REFUSAL_REASON_BYTES_MAX};

/// First words of the engine's own format of a backtrace, which is among the causes of an error.
const BACKTRACE_HEADING: &str = "error while executing at wasm backtrace:";

/// Returns the causes of an error, the outermost first, without its backtrace.
pub fn causes(error: &wasmtime::Error) -> String {
    let causes = error.chain().filter_map(|cause| {
        let is_backtrace =
            BoundedText::write(BACKTRACE_HEADING.len(), |out| write!(out, "{cause}")) == BACKTRACE_HEADING;
        (!is_backtrace).then(|| BoundedText::write(REFUSAL_REASON_BYTES_MAX, |out| write!(out, "{cause}")))
    });
    let causes = causes.collect::<Vec<_>>().join(": ");
    BoundedText::write(REFUSAL_REASON_BYTES_MAX, |out| out.write_str(&causes))
}

/// Returns the frames of an error's backtrace, the innermost first. Returns `None` if the error has no frames.
pub fn frames(error: &wasmtime::Error) -> Option<String> {
    let frames = error.downcast_ref::<WasmBacktrace>()?.frames();
    let named: Vec<String> = frames.iter().take(REFUSAL_FRAMES_MAX).enumerate().map(frame).collect();
    let named = named.join(" | ");
    (!named.is_empty()).then(|| BoundedText::write(REFUSAL_OUTPUT_BYTES_MAX, |out| out.write_str(&named)))
}

fn frame((number, frame): (usize, &FrameInfo)) -> String {
    let offset = frame.module_offset().map(|offset| format!("{offset:#x} - ")).unwrap_or_default();
    let module =
        BoundedText::write(FRAME_NAME_BYTES_MAX, |out| out.write_str(frame.module().name().unwrap_or("<unknown>")));
    let function = match frame.func_name() {
        Some(name) => function_name(name),
        None => format!("<wasm function {}>", frame.func_index()),
    };
    format!("{number}: {offset}{module}!{function}")
}

/// Returns the name of a function. Rust names are decoded, others are unchanged.
pub(super) fn function_name(name: &str) -> String {
    BoundedText::write(FRAME_NAME_BYTES_MAX, |out| match try_demangle(name) {
        Ok(decoded) => write!(out, "{decoded:#}"),
        Err(_) => out.write_str(name),
    })
}

/// A string of bounded size. Writing fails once it is full.
struct BoundedText {
    text: String,
    bytes_max: usize,
}

impl BoundedText {
    fn write(bytes_max: usize, write: impl FnOnce(&mut BoundedText) -> fmt::Result) -> String {
        let mut bounded = BoundedText { text: String::new(), bytes_max };
        // An error means that the string is full. It contains everything that fits.
        let _full = write(&mut bounded);
        bounded.text
    }
}

impl Write for BoundedText {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = self.bytes_max.saturating_sub(self.text.len());
        let fitting = more.get(..more.floor_char_boundary(room)).unwrap_or_default();
        self.text.push_str(fitting);
        if fitting.len() == more.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::{Engine, Instance, Module, Store};

    use super::*;

    /// Returns the trap of a module whose function of this name is `unreachable`.
    fn trap(name: &str) -> wasmtime::Error {
        let text = format!(r#"(module $traps (func $"{name}" (export "f") unreachable))"#);
        let engine = Engine::default();
        let module = Module::new(&engine, wat::parse_str(text).unwrap()).unwrap();
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[]).unwrap();
        instance.get_typed_func::<(), ()>(&mut store, "f").unwrap().call(&mut store, ()).unwrap_err()
    }

    #[test]
    fn cause_and_frames_of_an_error_are_separate() {
        let error = trap("_RNvC6_123foo3bar");
        assert_eq!(causes(&error), "wasm trap: wasm `unreachable` instruction executed");
        let frames = frames(&error).unwrap();
        assert!(frames.starts_with("0: 0x") && frames.ends_with(" - traps!123foo::bar"), "{frames}");
        assert_eq!(
            causes(&error.context("outermost")),
            "outermost: wasm trap: wasm `unreachable` instruction executed"
        );
    }

    #[test]
    fn error_without_a_backtrace_has_no_frames() {
        let error = wasmtime::Error::msg("x".repeat(100_000));
        assert_eq!((causes(&error).len(), frames(&error)), (REFUSAL_REASON_BYTES_MAX, None));
    }

    #[test]
    fn mangled_cpp_name_that_decodes_exponentially_is_not_decoded() {
        let name = crate::plugin::guest::exponential_name(60);
        let frames = frames(&trap(&name)).unwrap();
        assert!(frames.ends_with(&name[..FRAME_NAME_BYTES_MAX]) && frames.len() < 300, "{frames}");
    }

    #[test]
    fn rust_name_is_decoded_up_to_the_limit() {
        let long = "a".repeat(300);
        assert_eq!(function_name("_ZN3foo3bar17h0123456789abcdefE"), "foo::bar");
        assert_eq!(function_name(&format!("_ZN3foo300{long}17h0123456789abcdefE")), format!("foo::{}", &long[..195]));
    }

    #[test]
    fn text_is_truncated_between_characters() {
        assert_eq!(BoundedText::write(4, |out| out.write_str("aéé")), "aé");
        assert_eq!(BoundedText::write(3, |out| out.write_str("aé").and_then(|()| out.write_str("b"))), "aé");
        assert_eq!(function_name("plain"), "plain");
    }
}
