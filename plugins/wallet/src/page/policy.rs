//! The headers of the page: what a browser may do with it. Nothing is loaded, framed or sent but what stands here.

use std::fmt::Write as _;

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

pub const STYLE: &str = include_str!("style.css");
pub const SCRIPT: &str = include_str!("script.js");

/// Its address opens it, so nobody else may learn or keep it.
const PRIVATE: [(&str, &str); 4] = [
    ("cache-control", "no-store"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-robots-tag", "noindex, nofollow"),
];

pub fn of_document() -> Vec<(&'static str, String)> {
    let mut policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; ".to_owned();
    // The empty icon, so that none is asked for; the status, below the page's own address.
    policy.push_str("img-src data:; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'");
    for (what, content) in [("style", STYLE), ("script", SCRIPT)] {
        let hash = STANDARD.encode(Sha256::digest(content));
        // Writing into a text cannot fail.
        let _ = write!(policy, "; {what}-src 'sha256-{hash}'");
    }
    let mut headers = vec![
        ("content-security-policy", policy),
        // For browsers that do not know `frame-ancestors`.
        ("x-frame-options", "DENY".to_owned()),
        ("cross-origin-opener-policy", "same-origin".to_owned()),
        ("cross-origin-resource-policy", "same-origin".to_owned()),
    ];
    headers.extend(private());
    headers
}

pub fn of_status() -> Vec<(&'static str, String)> {
    private().collect()
}

fn private() -> impl Iterator<Item = (&'static str, String)> {
    PRIVATE.into_iter().map(|(name, value)| (name, value.to_owned()))
}
