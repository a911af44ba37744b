//! Plugins are replaced while requests run through them: the whole pipeline over the real host, seen as its callers
//! and its operators see it.

mod asked;
mod bombs;
mod burst;
mod chameleons;
mod data;
mod files;
mod journal;
mod load;
mod many;
mod refused;
mod settings;
mod traffic;
mod two;
mod writers;
