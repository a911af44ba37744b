//! Excessive use of time, memory and stack, and abnormal termination.

use std::hint::black_box;

use crate::{Outcome, Request, Route, number, refuse, tenon::plugin::records};

pub const ROUTES: &[Route] = &[
    ("loop", |_| {
        loop {
            black_box(());
        }
    }),
    // Allocates and touches pieces of one MiB until the host rejects an allocation.
    ("allocate", |_| {
        loop {
            black_box(vec![1u8; 1 << 20].leak());
        }
    }),
    ("survive-refused-memory", survive_refused_memory),
    ("recurse", |_| refuse(200, recurse(0).to_string())),
    ("trap", |_| core::arch::wasm32::unreachable()),
    ("panic", |_| panic!("on purpose")),
    ("exit", |_| std::process::exit(0)),
    ("trap-after-write", trap_after_write),
    ("slow", slow),
];

/// Handles the failure of an allocation of 40 MiB.
fn survive_refused_memory(_: &Request) -> Outcome {
    let mut bytes: Vec<u8> = Vec::new();
    if bytes.try_reserve_exact(40 << 20).is_err() {
        return refuse(507, r#"{"code":"no-memory"}"#);
    }
    bytes.resize(40 << 20, 1);
    refuse(200, black_box(&bytes).len().to_string())
}

#[allow(unconditional_recursion)]
fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 32]);
    recurse(frame[0] + 1) + frame[31]
}

/// Traps after a write, which must not be applied.
fn trap_after_write(_: &Request) -> Outcome {
    let _ = records::insert("things", "trapped", r#"{"colour":"red"}"#);
    core::arch::wasm32::unreachable()
}

/// Runs a loop of `?steps=N` steps, about one millisecond for a million. Valid, but slow.
fn slow(request: &Request) -> Outcome {
    for step in 0..number(request, "steps", 1_000_000) {
        black_box(step);
    }
    refuse(200, r#"{"done":true}"#)
}
