//! Plugins: loads components as callable generations, and performs their calls.
//!
//! - `engine`: wasmtime and its settings. `grants`: allowed imports. `inspect`: imports, exports and size of a
//!   component.
//! - `load`: the steps from the bytes of a component to a generation. `generation`: a checked, callable version of a
//!   plugin, created only by `load`.
//! - `routes`: maps requests to operations. `error_bodies`: error responses in the format of the interface.
//! - `exchange`: values that pass between HTTP and a call. `estimate`: memory estimates of calls.
//! - `native`: a plugin without a sandbox, for measuring. `call`: one call, from the pinned generation to the durable
//!   answer.
//! - `reload`: the task that swaps generations. `compare`: changes for callers. `registry`: the serving table.
//! - `watch`: detects changed files. `components`: bytes and compiled code on disk. `compile`: the processes that
//!   compile. `compiling`: plugins that are being compiled. `backtrace`: formats errors of calls in bounded size.
//! - `profile`: the functions in which the calls of a plugin spend their time. `progress`: reports the loading of the
//!   plugins after a start.

mod backtrace;
pub mod call;
pub mod compare;
pub mod compile;
pub mod compiling;
pub mod components;
pub mod engine;
pub mod error_bodies;
pub mod estimate;
pub mod exchange;
pub mod generation;
pub mod grants;
pub mod inspect;
pub mod load;
pub mod native;
pub mod profile;
pub mod progress;
pub mod registry;
pub mod reload;
pub mod routes;
pub mod watch;

#[cfg(test)]
pub(crate) mod guest;
