//! How the host speaks to the outside.

mod address;
mod target;

pub use address::{AddressRule, Forbidden};
pub use target::{Scheme, Target, UrlRefusal, check_url};
