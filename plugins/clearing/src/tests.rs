//! The plugin through its handlers, on a host in memory.

mod bank;
mod directory;
mod flows;
mod messages;
mod platform;
mod repeats;
mod support;
