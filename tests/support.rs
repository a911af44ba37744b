//! Shared test fixtures: a host for each test, HTTP clients, and receivers of outgoing calls.
//!
//! The host is the real one. It runs inside the test process on its own ports, and its folder is removed afterwards.
//! A test can only replace its clock and make a commit fail.

mod certificate;
mod client;
pub mod compiled_code;
mod coverage_claims;
mod faulty_proxy;
mod faulty_receiver;
mod finish_guard;
mod host;
mod poll;
mod random;
mod raw_connection;
mod receiver;
mod stored_rows;
mod text_guest;

pub use certificate::TestCertificate;
pub use client::{Response, TestClient};
pub use coverage_claims::{check_claims, check_folder, operation_of};
pub use faulty_proxy::FaultyProxy;
pub use faulty_receiver::FaultyReceiver;
pub use finish_guard::FinishGuard;
pub use host::{TestHost, TestHostBuilder, component, shipped_section};
pub use poll::eventually;
pub use random::Random;
pub use raw_connection::RawConnection;
pub use receiver::{ReceivedRequest, ReceiverResponse, TestReceiver};
pub use stored_rows::StoredEvent;
pub use text_guest::TextGuest;
