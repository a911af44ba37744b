//! Places: create, list, search, read, update, delete (research/fleet 1.5).

pub mod mixed;
#[cfg(test)]
mod tests;

pub use mixed::position;

use tenon_plugin::Stop;

use super::errors;
use crate::rules::place::Place;
use mixed::Mixed;

/// A place that stays within its order: of no id.
pub fn read(field: &'static str, value: &str) -> Result<Place, Stop> {
    match mixed::read(field, value)? {
        Mixed::Known(_) | Mixed::AtDriver(_) => Err(errors::not_found()),
        Mixed::Address(text) => Ok(Place::of_address(&text)),
        Mixed::New(new) => Ok(new.place),
    }
}
