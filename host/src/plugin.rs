//! Plugins: from the bytes of a component to a callable generation, and one call into it.
//!
//! - `manifest`: what a plugin says of itself.
//! - `engine`: wasmtime and its settings. `grants`: what a plugin may import. `inspect`: what a component wants.
//! - `generation`: a checked, callable version of a plugin; made by `load` alone.
//! - `routes`: which request belongs to which operation. `wording`: failures in the interface's own words.
//! - `call`: one call, from the pinned generation to the durable answer.
//! - `reload`: the one task that swaps. `watch`: which files changed. `components`: bytes and compiled code on disk.

pub mod call;
pub mod exchange;
pub mod generation;
pub mod manifest;
pub mod routes;
pub mod wording;
