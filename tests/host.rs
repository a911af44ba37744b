//! The host against bad guests, bad input and bad operators.

mod audit;
mod backup;
mod commands;
mod credentials;
mod damage;
mod destinations;
mod encrypted;
mod journal;
pub mod keys;
mod misdeeds;
mod nesting;
mod networks;
pub mod oauth;
mod opening;
mod operators;
mod printed;
mod refused;
mod requests;
mod rush;
mod seeds;
mod signing;
mod starting;
mod upgrade;
mod upkeep;
mod webhooks;
mod wording;
mod world;
