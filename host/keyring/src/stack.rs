//! Wiping the stack: what a computation on secrets leaves in dead frames is overwritten.
//!
//! The crates below wipe the values that they own. They cannot wipe what the compiler spilled, what a hash keeps in its
//! block (hmac and sha2 of this line do not wipe theirs), or what was moved. All of that lies on the stack below the
//! caller's frame, and this is the one place that overwrites it.
//! Never wipes what the work returns: that has to be public, or behind a pointer and wiped by its owner.

use std::hint::black_box;

/// Bytes below the caller's frame that are overwritten. With 4 KiB, `tests/residue.rs` finds keys in unoptimised code, with
/// 8 KiB none. But it does not look for the nonces of signatures, and k256 puts a table of 30 KiB beside theirs.
const STACK_BYTES: usize = 64 << 10;

/// Does `work`, then overwrites the stack that it used.
pub(crate) fn wiped_after<T>(work: impl FnOnce() -> T) -> T {
    let result = in_own_frame(work);
    overwrite();
    result
}

/// Not inlined: the frames of `work` then lie where [`overwrite`] writes.
#[inline(never)]
fn in_own_frame<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[inline(never)]
fn overwrite() {
    let mut dead = [0_u8; STACK_BYTES];
    // The compiler must take it that somebody reads them.
    black_box(&mut dead);
}
