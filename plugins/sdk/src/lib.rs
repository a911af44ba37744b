//! SDK for plugins: a table of routes, typed refusals, the host's interfaces as methods of [`Call`], and a test kit
//! that runs handlers natively.
//!
//! Owns everything between the contract (`wit/`) and a plugin's handlers: dispatch, the manifest, the parsing of
//! bodies. It contains no business rule and keeps no state between calls. It renders no error body: the function that
//! the plugin passes to [`Plugin::render_error()`] does.
//!
//! ```
//! use tenon_plugin::{Answer, Call, Outcome, Plugin, get, json};
//!
//! pub static PLUGIN: Plugin = Plugin::new("hello", "0.1.0").routes(&[get("/hello/{name}", "say-hello", say_hello)]);
//! tenon_plugin::export!(PLUGIN);
//!
//! fn say_hello(call: &Call) -> Outcome {
//!     let name = call.parameter("name");
//!     Ok(Answer::ok(json::to_text(&[("hello", name)])?))
//! }
//! ```
//!
//! A plugin is a `static`, built at compile time. A fresh instance serves every call, so any work at startup would be
//! repeated for each call.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod answer;
#[doc(hidden)]
#[allow(clippy::all, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
pub mod bindings;
mod call;
pub mod chains;
pub mod credentials;
pub mod destinations;
pub mod effects;
pub mod host;
pub mod json;
pub mod keyring;
pub mod ledger;
mod lists;
mod manifest;
mod plugin;
mod query;
pub mod records;
mod route;
pub mod subscriptions;
pub mod tasks;
#[cfg(not(target_arch = "wasm32"))]
pub mod test_kit;
pub mod time;

pub use answer::{Answer, Outcome, Refusal, Stop};
pub use bindings::exports::tenon::plugin::handler::Request;
pub use bindings::tenon::plugin::log::Level;
pub use bindings::tenon::plugin::types::{Blob, Content, Pair, Principal};
pub use call::Call;
pub use host::{EventEntry, FeedFilter, FeedPage};
pub use lists::{count, join};
pub use plugin::{Collection, ErrorKind, ErrorTemplate, EventType, Index, Plugin, RenderError};
pub use query::{QueryError, RenderQueryError, escape};
pub use route::{Handler, Route, delete, get, patch, post, put, scoped};
pub use tasks::{Task, TaskOutcome, Verdict, task};

/// Wire form of a call and its result, for native hosts of a plugin.
pub mod wire {
    pub use crate::bindings::exports::tenon::plugin::handler::{Answer, Feed, Request, Task, Verdict};
    pub use crate::bindings::tenon::plugin::types::{Blob, Content, Pair, Principal, Response};
}

/// Exports a [`Plugin`] as a component.
///
/// Expands to nothing on native targets: the names of the exports are not valid symbols for a native linker, and native
/// tests call [`Plugin::handle`] directly.
#[macro_export]
macro_rules! export {
    ($plugin:path) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Component;
            impl $crate::bindings::exports::tenon::plugin::handler::Guest for Component {
                fn describe() -> ::std::string::String {
                    $plugin.describe()
                }
                fn handle(
                    request: $crate::Request,
                ) -> ::std::result::Result<$crate::wire::Answer, ::std::string::String> {
                    $plugin.handle($crate::host::imports(), &request)
                }
                fn run(
                    task: $crate::wire::Task,
                ) -> ::std::result::Result<$crate::wire::Verdict, ::std::string::String> {
                    $plugin.run($crate::host::imports(), &task)
                }
            }
    $crate::bindings::export_handler!(Component with_types_in $crate::bindings);
        };
    };
}

/// Compiles the self-contained code blocks of the guide for authors.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/plugin-authors.md")]
pub struct PluginAuthors;
