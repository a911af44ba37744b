//! Requests and answers: parse, call the rules, answer. Owns the wire forms; decides nothing.

pub mod actor;
pub mod contacts;
pub mod customers;
pub mod deleted;
pub mod drivers;
pub mod driving;
pub mod entities;
pub mod errors;
pub mod events;
pub mod files;
pub mod fixes;
pub mod form;
pub mod free;
pub mod lists;
pub mod multipart;
pub mod nearby;
pub mod order_configs;
pub mod orders;
pub mod organizations;
pub mod payloads;
pub mod places;
pub mod proofs;
#[cfg(test)]
pub mod seeds;
pub mod stream;
pub mod tracking_numbers;
pub mod tracking_statuses;
pub mod unknown;
pub mod vehicles;
pub mod waypoints;
pub mod webhooks;
