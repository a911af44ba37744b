//! Tokens of drivers. One carries its driver's id, opens what a driver may do, and is seen once: in the answer to a login.

use tenon_plugin::credentials::Grant;
use tenon_plugin::{Call, Pair};

use crate::api::actor::ATTRIBUTE;
use crate::rules::driver::session;

/// The text of a new one. Of too many the oldest end.
pub fn issue(call: &Call, driver: &str) -> String {
    let credentials = call.credentials();
    let valid = credentials.find(ATTRIBUTE, driver);
    for credential in valid.iter().take(session::ended_by_one_more(valid.len())) {
        credentials.revoke(&credential.id);
    }
    let grant = Grant {
        label: ["driver ", driver].concat(),
        attributes: vec![Pair { name: ATTRIBUTE.to_owned(), value: driver.to_owned() }],
        scopes: Vec::new(),
        expires_at: Some(session::ends_at(call.now())),
        signs: false,
    };
    credentials.issue_token(&grant).secret
}

/// All that the driver has.
pub fn revoke(call: &Call, driver: &str) {
    call.credentials().revoke_all(ATTRIBUTE, driver);
}
