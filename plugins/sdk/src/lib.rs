//! What a plugin is written with: a table of routes, typed refusals, the host's interfaces as methods of [`Call`], and a
//! test kit that runs handlers natively.
//!
//! Owns everything between the contract (`wit/`) and a plugin's handlers: dispatch, the manifest, the reading of bodies.
//! Never holds a rule, keeps anything between calls, or words a failure itself: the plugin's `words` does.
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
//! A plugin is a `static`, built at compile time: a fresh instance serves every call, so nothing may be built anew for each.

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
pub use plugin::{Collection, EventType, Index, Kind, Plugin, Wording};
pub use query::{QueryFault, RefuseQuery, escape};
pub use route::{Handler, Route, delete, get, patch, post, put, scoped};
pub use tasks::{Task, TaskOutcome, Verdict, task};

/// What the host has asked for and what it gets: the wire form of a call, for those who run a plugin natively.
pub mod wire {
    pub use crate::bindings::exports::tenon::plugin::handler::{Answer, Feed, Request, Task, Verdict};
    pub use crate::bindings::tenon::plugin::types::{Blob, Content, Pair, Principal, Response};
}

/// Makes a component of a [`Plugin`]. Expands to nothing natively: the names of the exports are not symbols that a native
/// linker takes, and native tests call [`Plugin::handle`] themselves.
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

/// What authors copy is compiled: the blocks of the page that stand for themselves.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/plugin-authors.md")]
pub struct PluginAuthors;
