//! Wipes the stack: overwrites what a computation on secrets leaves in dead frames.
//!
//! Other crates wipe the values that they own. They cannot wipe spilled registers, the block buffer of a hash (hmac and
//! sha2 of this version do not wipe theirs), or moved values. All of these are on the stack below the caller's frame.
//! Only this module overwrites it. The result of the work is not wiped: it must be public, or behind a pointer and
//! wiped by its owner.

use std::hint::black_box;

/// Number of bytes below the caller's frame that are overwritten. With 4 KiB, `tests/residue.rs` finds keys in
/// unoptimised code, with 8 KiB none. But it does not search for the nonces of signatures, and k256 puts a table of 30
/// KiB beside them.
const STACK_BYTES: usize = 64 << 10;

/// Runs `work`, then overwrites the stack that it used.
pub(crate) fn wiped_after<T>(work: impl FnOnce() -> T) -> T {
    let result = in_own_frame(work);
    overwrite();
    result
}

/// Runs `work` in a frame of its own. Not inlined, so that its frames are in the area that [`overwrite`] writes.
#[inline(never)]
fn in_own_frame<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[inline(never)]
fn overwrite() {
    let mut dead = [0_u8; STACK_BYTES];
    // Keeps the compiler from removing the writes.
    black_box(&mut dead);
}
