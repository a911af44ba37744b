//! Records as the interface shows them (research/wallet 2): the fields of the specification first, then those of the real product.
//!
//! Where both have a member of one name, it is the specification's: `blockchain` is a text, and the object of the real product
//! is called `blockchainInfo`. Never a secret.

pub mod address;
pub mod asset;
pub mod payment_link;
pub mod provided;
pub mod transaction;
pub mod wallet;

use tenon_plugin::Stop;
use tenon_plugin::json::Object;

/// A JSON object in the making.
#[derive(Clone, Default)]
pub struct Text(Object<'static>);

impl Text {
    pub fn new() -> Text {
        Text::default()
    }

    pub fn with<T: serde::Serialize + ?Sized>(mut self, name: &'static str, value: &T) -> Result<Text, Stop> {
        self.0.set(name, value)?;
        Ok(self)
    }

    /// `json` is one JSON text.
    pub fn raw(mut self, name: &'static str, json: String) -> Text {
        self.0.set_raw(name, json);
        self
    }

    /// null where there is none.
    pub fn raw_or_null(self, name: &'static str, json: Option<String>) -> Text {
        self.raw(name, json.unwrap_or_else(|| "null".to_owned()))
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.has(name)
    }

    pub fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.members()
    }

    pub fn to_text(&self) -> String {
        self.0.to_text()
    }
}
