//! The fleet interface over real HTTP, as apps use it: every operation, every code, every event (spec/fleet).

mod commits;
mod crowd;
mod drivers;
mod errors;
mod every_route;
mod feed;
mod lists;
mod orders;
pub mod routes;
mod stream;
mod tracking;
mod webhooks;
