//! Settings of the memory allocators: how soon freed memory is returned to the operating system.
//!
//! The host allocates with mimalloc. C libraries such as SQLite use the allocator of the system.

use std::{
    ffi::{c_int, c_long},
    thread,
    time::Duration,
};

/// Number of mimalloc's option `purge_delay`, which its Rust crates do not name.
const PURGE_DELAY: c_int = 15;
/// Milliseconds for which mimalloc keeps freed pages. Its default is 1 000. Threads allocate from separate regions, so
/// freed pages of many threads add up. A delay of 0 costs 8 % of the rate of small reads.
const PURGE_DELAY_MS: c_long = 100;
/// Interval at which a dedicated thread returns freed pages. mimalloc itself returns pages only when a thread
/// allocates.
const COLLECT_EVERY: Duration = Duration::from_millis(500);

/// Starts returning freed memory. Must be called once, before the process has other threads.
pub fn return_freed_memory() {
    shorten_purge_delay();
    // If the thread cannot be started, mimalloc returns freed pages when later requests allocate.
    let _ = thread::Builder::new().name("memory".to_owned()).spawn(return_freed_pages);
}

/// Returns memory that C libraries have freed. Takes up to a few milliseconds.
#[allow(unsafe_code)]
pub fn trim_system_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> c_int;
        }
        // SAFETY: glibc allows `malloc_trim` on every thread.
        let _is_returned = unsafe { malloc_trim(0) };
    }
}

/// Sets the purge delay. The environment variable `MIMALLOC_PURGE_DELAY` overrides it.
#[allow(unsafe_code)]
fn shorten_purge_delay() {
    // SAFETY: the call sets a number that mimalloc reads when it frees pages. No other thread runs yet.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MS) }
}

#[allow(unsafe_code)]
fn return_freed_pages() {
    // `mi_collect` does nothing on a thread that never allocated.
    drop(std::hint::black_box(Box::new(0_u8)));
    loop {
        thread::park_timeout(COLLECT_EVERY);
        // SAFETY: mimalloc allows `mi_collect` on every thread. It returns some of the pages whose delay is over.
        unsafe { libmimalloc_sys::mi_collect(false) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(unsafe_code)]
    fn purge_delay() -> c_long {
        // SAFETY: the call only reads a number.
        unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) }
    }

    #[test]
    fn freed_pages_are_kept_for_a_shorter_time_than_by_default() {
        assert_eq!(purge_delay(), 1_000, "mimalloc numbers its options, or its defaults, differently");
        shorten_purge_delay();
        assert_eq!(purge_delay(), PURGE_DELAY_MS);
    }
}
