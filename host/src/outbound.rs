//! How the host speaks to the outside: one HTTP call to an address that somebody else chose.
//!
//! Owns the check of addresses, connecting, the idle connections, and the words for what went wrong. Never decides whether
//! to try again, never signs, keeps nothing of what it sends. Invariants:
//!
//! - No socket is opened to an address that the rule of the call does not allow: what was looked up is judged, and what
//!   was judged is connected to. A connection that is used again is judged again.
//! - No socket is opened to a listener of the host itself, even if the rule allows its address.
//! - A redirect is an answer like any other. No proxy, no cookies, no compression, HTTP/1.1 only.
//! - Every call ends within its time and reads a bounded number of bytes, whatever the other side sends.
//! - Nothing runs between two calls: a call drives its own connection, and an idle one is a socket and nothing else.

mod address;
mod below;
mod client;
mod config;
mod connect;
mod exchange;
mod failure;
mod hops;
mod login;
mod metered;
mod outside;
mod own;
mod pool;
mod reason;
mod resolve;
mod retry_after;
mod target;
mod tls;

pub use address::{AddressRule, Forbidden};
pub use below::{PathRefusal, check_base_url, join};
pub use client::{Answer, Call, Client};
pub use config::{OutboundConfig, is_live};
pub use exchange::BodyEnd;
pub use failure::{Failure, FailureClass};
pub use hops::{HOPS_HEADER, HopsRefusal, next_hops, read_hops};
pub use login::{ClientAuthentication, Login, LoginSecrets, LoginSettings, OAuthClient};
pub use outside::Outside;
pub use reason::Reason;
pub use resolve::{Lookup, Party, Resolve, SystemResolver};
pub use retry_after::retry_after_ms;
pub use target::{Scheme, Target, UrlRefusal, check_url};
pub use tls::{RootError, Roots};

#[cfg(test)]
mod tests;
