//! The organization whose key calls.

use tenon_plugin::{Call, Stop, json};

pub fn id(call: &Call) -> String {
    ["company_", call.organization()].concat()
}

pub fn text(call: &Call) -> Result<String, Stop> {
    json::to_text(&[("id", id(call).as_str()), ("name", call.organization())])
}
