//! Time, memory, stack, and sudden ends.

use std::hint::black_box;

use crate::{Misdeed, Outcome, Request, number, refuse, tenon::plugin::records};

pub const MISDEEDS: &[Misdeed] = &[
    ("loop", |_| {
        loop {
            black_box(());
        }
    }),
    // In pieces of one megabyte, every page touched, until the host says no.
    ("allocate", |_| {
        loop {
            black_box(vec![1u8; 1 << 20].leak());
        }
    }),
    ("recurse", |_| refuse(200, recurse(0).to_string())),
    ("trap", |_| core::arch::wasm32::unreachable()),
    ("panic", |_| panic!("on purpose")),
    ("exit", |_| std::process::exit(0)),
    ("trap-after-write", trap_after_write),
    ("slow", slow),
];

#[allow(unconditional_recursion)]
fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 32]);
    recurse(frame[0] + 1) + frame[31]
}

/// What it wrote must never be seen.
fn trap_after_write(_: &Request) -> Outcome {
    let _ = records::insert("things", "trapped", r#"{"colour":"red"}"#);
    core::arch::wasm32::unreachable()
}

/// `?steps=N`, about one millisecond for a million. Honest, but long.
fn slow(request: &Request) -> Outcome {
    for step in 0..number(request, "steps", 1_000_000) {
        black_box(step);
    }
    refuse(200, r#"{"done":true}"#)
}
