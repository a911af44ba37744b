//! Plugins: from the bytes of a component to a callable generation, and one call into it.
//!
//! - `engine`: wasmtime and its settings. `grants`: what a plugin may import. `inspect`: what a component wants.
//! - `generation`: a checked, callable version of a plugin; made by `load` alone.
//! - `routes`: which request belongs to which operation. `wording`: failures in the interface's own words.
//! - `exchange`: what passes between HTTP and a call.
//! - `native`: a plugin without a sandbox, for measuring. `call`: one call, from the pinned generation to the durable answer.
//! - `reload`: the one task that swaps. `compare`: what would change for callers. `registry`: what serves now.
//! - `watch`: which files changed. `components`: bytes and compiled code on disk. `compile`: the processes that compile.
//!   `compiling`: which plugins are being compiled. `backtrace`: errors of calls as text of bounded size.
//! - `profile`: which functions the calls of a plugin spend their time in.

mod backtrace;
pub mod call;
pub mod compare;
pub mod compile;
pub mod compiling;
pub mod components;
pub mod engine;
pub mod estimate;
pub mod exchange;
pub mod generation;
pub mod grants;
pub mod inspect;
pub mod load;
pub mod native;
pub mod profile;
pub mod registry;
pub mod reload;
pub mod routes;
pub mod watch;
pub mod wording;

#[cfg(test)]
pub(crate) mod guest;
