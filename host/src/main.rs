//! The program `tenon`, and the settings of its allocator.

use std::{
    ffi::{c_int, c_long},
    process::ExitCode,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Number of mimalloc's option `purge_delay`, which its Rust crate does not name.
const PURGE_DELAY: c_int = 15;
/// Milliseconds for which mimalloc keeps freed pages. Its default of 1 000 kept several times the memory budget after a
/// burst of calls, until further calls came.
const PURGE_DELAY_MS: c_long = 0;

fn main() -> ExitCode {
    return_freed_pages();
    tenon::cli::run()
}

/// The environment variable `MIMALLOC_PURGE_DELAY` overrides it.
#[allow(unsafe_code)]
fn return_freed_pages() {
    // SAFETY: sets a number that mimalloc reads when it frees pages. No other thread runs yet.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(unsafe_code)]
    fn purge_delay() -> c_long {
        // SAFETY: reads a number.
        unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) }
    }

    #[test]
    fn allocator_returns_freed_pages_at_once() {
        assert_eq!(purge_delay(), 1_000, "mimalloc numbers its options, or its defaults, differently");
        return_freed_pages();
        assert_eq!(purge_delay(), PURGE_DELAY_MS);
    }
}
