//! What every test stands on: a host of its own, and clients that speak HTTP to it.
//!
//! The host is the real one, started inside of the test on ports of its own, with a folder that is removed afterwards.
//! Only its clock is the test's.

mod between;
mod certificate;
mod claims;
mod client;
pub mod compiled;
mod faulty;
mod host;
mod poll;
mod random;
mod raw;
mod receiver;
mod rows;
mod text;
mod unfinished;

pub use between::FaultyProxy;
pub use certificate::TestCertificate;
pub use claims::{check_claims, check_folder, operation_of};
pub use client::{Response, TestClient};
pub use faulty::FaultyReceiver;
pub use host::{TestHost, TestHostBuilder, component, shipped_section};
pub use poll::eventually;
pub use random::Random;
pub use raw::RawConnection;
pub use receiver::{Arrived, Reply, TestReceiver};
pub use rows::StoredEvent;
pub use text::TextGuest;
pub use unfinished::Unfinished;
