//! The clearing house interface over HTTP: both sides, with real tokens, on the real host (spec/clearing, docs/clearing.md).
//!
//! - `stage`: hosts with their sides, and whom they talk to. `actor`: who calls. `messages`: what the specification asks for.
//! - `look`: rest, books and totals of a stage.
//! - `flows`: payments from end to end. `partner`, `platform`: one side alone, its deadlines and its patience. `crossings`: every
//!   message in every situation. `repeats`: the same at once. `faults`: whatever happens in between.
//! - `pictures`: the flows of docs/clearing.md, as they are drawn there.
//! - `coverage`: what there is to be tested, and that each row of it is.
//!
//! A test says what it covers (`covers`), and fails where that was not seen on the wire.

mod actor;
mod coverage;
mod crossings;
mod faults;
mod flows;
mod look;
mod messages;
mod partner;
mod pictures;
mod platform;
mod repeats;
mod stage;

/// 2026-05-07T08:30:00Z
const START_MS: u64 = 1_778_142_600_000;
