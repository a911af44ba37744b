//! The host against bad guests, bad input and bad operators.

mod commands;
mod encrypted;
mod keys;
mod misdeeds;
mod nesting;
mod operators;
mod printed;
mod refused;
mod requests;
mod rush;
mod starting;
mod upkeep;
mod webhooks;
mod wording;
mod world;
