//! Outgoing HTTP: one call to an address that an operator, a plugin or a tenant chose.
//!
//! Owns the check of addresses, connecting, idle connections, and the errors of calls. Retries and signatures are the
//! caller's task. Requests and responses are not stored. Invariants:
//!
//! - No socket is opened to an address that the rule of the call does not allow. The addresses that were looked up are
//!   checked, and only checked addresses are connected to. A connection is checked again before it is reused.
//! - No socket is opened to a listener of the host that the client blocks, even if the rule allows its address.
//! - A redirect is an ordinary response. No proxy, no cookies, no compression, HTTP/1.1 only.
//! - Every call ends within its time and reads a bounded number of bytes, whatever the server sends.
//! - Nothing runs between two calls: a call drives its own connection, and an idle connection is only a socket.

mod address;
mod base_url;
mod client;
mod config;
mod connect;
mod context;
mod error;
mod exchange;
mod hops;
mod login;
mod metered;
mod own_listeners;
mod pool;
mod reason;
mod resolve;
mod retry_after;
mod target;
mod tls;

pub use address::{AddressError, AddressRule};
pub use base_url::{PathError, check_base_url, join};
pub use client::{Client, OutboundCall, OutboundResponse};
pub use config::{OutboundConfig, is_live};
pub use context::OutboundContext;
pub use error::{OutboundError, OutboundErrorClass};
pub use exchange::BodyEnd;
pub use hops::{HOPS_HEADER, HopsError, next_hops, read_hops};
pub use login::{ClientAuthentication, Login, LoginSecrets, LoginSettings, OAuthClient};
pub use reason::Reason;
pub use resolve::{Lookup, Party, Resolve, SystemResolver};
pub use retry_after::retry_after_ms;
pub use target::{Scheme, Target, UrlError, check_url};
pub use tls::{RootError, Roots};

#[cfg(test)]
mod tests;
