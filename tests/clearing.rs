//! The clearing house interface over HTTP: both sides, with real tokens, on the real host (spec/clearing,
//! docs/clearing.md).
//!
//! - `stage`: hosts with their sides, and whom they talk to. `actor`: who calls. `messages`: what the specification
//!   asks for.
//! - `look`: rest, books and totals of a stage.
//! - `flows`: payments from end to end. `partner`, `platform`: one side alone, its deadlines and its patience.
//!   `answers`: what nobody expected. `crossings`: every message in every situation. `repeats`: the same at once.
//!   `faults`: whatever happens in between. `notices`: what the bank's own system is notified of. `proxies`: whose a
//!   proxy is. `settings`: what an operator has set wrongly.
//! - `pictures`: the flows of docs/clearing.md, as they are drawn there.
//! - `routes`: every operation, and how it is used rightly. `refusals`: how this interface says no. `tokens`: who is
//!   believed. `malformed`: what cannot be read. `fields`: what cannot be meant. `pressure`: too much, too late, and
//!   what breaks.
//! - `directory`, `partners`, `lists`, `reports`: what is kept beside payments, and what is shown of them. `strangers`:
//!   to whom.
//! - `events`: what is told, and how. `hooks`: to whom. `journal`: what is written down.
//! - `coverage`: what there is to be tested, and that each row of it is.
//!
//! A test says what it covers (`covers`), and fails where that was not seen on the wire.

mod actor;
mod answers;
mod coverage;
mod crossings;
mod directory;
mod events;
mod faults;
mod fields;
mod flows;
mod hooks;
mod journal;
mod lists;
mod look;
mod malformed;
mod messages;
mod notices;
mod partner;
mod partners;
mod pictures;
mod platform;
mod pressure;
mod proxies;
mod refusals;
mod repeats;
mod reports;
mod routes;
mod settings;
pub mod stage;
mod strangers;
mod tokens;

/// 2026-05-07T08:30:00Z
const START_MS: u64 = 1_778_142_600_000;
