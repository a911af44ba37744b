//! The fleet interface over real HTTP, as apps use it: every operation, every code, every event (spec/fleet).

mod codes;
mod codes_of_deliveries;
mod codes_of_drivers;
mod codes_of_orders;
mod commits;
mod coverage;
mod crowd;
mod drivers;
mod edges;
mod errors;
mod events;
mod events_of_drivers;
mod events_of_orders;
mod events_of_resources;
mod events_of_tracking;
mod every_route;
mod feed;
mod files;
mod lists;
mod orders;
mod other_drivers;
pub mod routes;
mod sent_codes;
pub mod stage;
mod stream;
mod tracking;
mod webhooks;
