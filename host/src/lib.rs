//! Tenon: a host for WebAssembly plugins that implement HTTP APIs.
//!
//! Modules depend on each other in one direction: `boot → admin → http → plugin → capability → commit → db →
//! changes`. The host contains no business logic.

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::disallowed_methods,
        clippy::type_complexity
    )
)]

pub mod admin;
pub mod auth;
pub mod backup;
pub mod boot;
pub mod budget;
pub mod capability;
pub mod chains;
pub mod changes;
pub mod cli;
pub mod clock;
pub mod commit;
pub mod config;
pub mod db;
pub mod delivery;
pub mod destinations;
pub mod fair;
pub mod feed;
pub mod host_error;
pub mod http;
pub mod keyring;
pub mod limits;
pub mod log;
pub mod manifest;
pub mod metrics;
pub mod outbound;
pub mod plugin;
pub mod regular_file;
pub mod secrets;
pub mod shutdown;
pub mod stores;
pub mod tasks;
