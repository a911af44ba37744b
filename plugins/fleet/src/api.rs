//! Requests and answers: parse, call the rules, answer. Owns the wire forms; decides nothing.

pub mod actor;
pub mod contacts;
pub mod customers;
pub mod deleted;
pub mod drivers;
pub mod entities;
pub mod errors;
pub mod events;
pub mod form;
pub mod lists;
pub mod order_configs;
pub mod orders;
pub mod organizations;
pub mod payloads;
pub mod places;
pub mod stream;
pub mod unknown;
pub mod vehicles;
pub mod webhooks;
