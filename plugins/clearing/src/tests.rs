//! The plugin through its handlers, on a host in memory.

mod bank;
mod conversation;
mod directory;
mod flows;
mod hostile;
mod manifest;
mod matrix;
mod messages;
mod platform;
mod repeats;
mod schema;
mod support;
mod webhooks;
