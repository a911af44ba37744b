//! Load, peers and crashes around the real program: what `make bench`, `make soak`, `make demo-swap` and the tests drive.
//!
//! Talks to Tenon only as its users do: over HTTP, through its command line, and (for the proof that nothing was lost)
//! by reading its database file. Links neither the host nor the engine.

// The bans of clippy.toml are the host's: a load generator has tasks of its own.
#![allow(clippy::disallowed_methods)]

pub mod bench;
pub mod clearing;
pub mod crash;
pub mod deploys;
pub mod fairness;
pub mod guests;
pub mod histogram;
pub mod load;
pub mod native;
pub mod program;
pub mod receiver;
pub mod scratch;
pub mod soak;
pub mod wallet;
pub mod wire;
