//! Load generator, peer servers and crash scenarios around the real program: driven by `make bench`, `make soak`,
//! `make demo-swap` and the tests.
//!
//! Accesses Tenon only as its users do: over HTTP and through its command line. It reads the database file only to
//! prove that nothing was lost. It links neither the host nor the engine.

// The bans of clippy.toml are for the host: a load generator spawns tasks of its own.
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
