//! What went wrong with a call: a class for rules and metrics, words for operators.
//!
//! The words name host, port and address, never a path, a header or a body: those hold secrets.

use std::{error::Error, io};

use super::{metered::TooMuch, reason::Reason};
use crate::limits::OUTBOUND_HEAD_BYTES_MAX;

/// No answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct Failure {
    pub class: FailureClass,
    pub words: String,
    /// Reason that the owner of the address may see.
    pub reason: Option<Reason>,
    pub duration_ms: u64,
    /// Whether a part of the request may have reached the other side.
    pub begun: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// The name has no address, or nobody tells.
    Dns,
    /// Nobody listens there.
    Refused,
    /// The connection ended before there was an answer.
    Reset,
    /// Not within its time.
    Timeout,
    /// The certificate is not good, or there is no common language.
    Tls,
    /// Not a public address, nor one that the operator allows. Nothing was sent.
    AddressNotAllowed,
    /// The head of the answer goes on and on.
    TooLarge,
    /// What came is not HTTP.
    Protocol,
    Other,
}

impl FailureClass {
    pub const ALL: [FailureClass; 9] = [
        FailureClass::Dns,
        FailureClass::Refused,
        FailureClass::Reset,
        FailureClass::Timeout,
        FailureClass::Tls,
        FailureClass::AddressNotAllowed,
        FailureClass::TooLarge,
        FailureClass::Protocol,
        FailureClass::Other,
    ];

    /// As it is stored, counted and shown.
    pub fn name(self) -> &'static str {
        match self {
            FailureClass::Dns => "dns",
            FailureClass::Refused => "refused",
            FailureClass::Reset => "reset",
            FailureClass::Timeout => "timeout",
            FailureClass::Tls => "tls",
            FailureClass::AddressNotAllowed => "address-not-allowed",
            FailureClass::TooLarge => "too-large",
            FailureClass::Protocol => "protocol",
            FailureClass::Other => "other",
        }
    }
}

impl Failure {
    pub(super) fn new(class: FailureClass, words: impl Into<String>) -> Failure {
        Failure { class, words: words.into(), reason: None, duration_ms: 0, begun: false }
    }

    /// The same failure in other words.
    pub(super) fn reworded(self, words: String) -> Failure {
        Failure { words, ..self }
    }

    /// Of opening a connection or speaking TLS on it.
    pub(super) fn of_io(error: &io::Error) -> Failure {
        use io::ErrorKind as Kind;
        if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            let reason = Reason::of_tls(error);
            return Failure { reason: Some(reason), ..Failure::new(FailureClass::Tls, reason.to_string()) };
        }
        match error.kind() {
            Kind::ConnectionRefused => Failure::new(FailureClass::Refused, "nobody listens there"),
            Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::BrokenPipe
            | Kind::NotConnected
            | Kind::UnexpectedEof => Failure::new(FailureClass::Reset, "the other side closed the connection"),
            Kind::TimedOut => Failure::new(FailureClass::Timeout, "the other side went silent"),
            _ => Failure::new(FailureClass::Other, error.to_string()),
        }
    }

    /// Of sending a request or reading its answer.
    pub(super) fn of_exchange(error: &hyper::Error) -> Failure {
        let io_error = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>());
        let too_much = io_error.and_then(io::Error::get_ref).is_some_and(<dyn Error + Send + Sync>::is::<TooMuch>);
        if too_much || error.is_parse_too_large() {
            let words = format!("the head of the answer is longer than {OUTBOUND_HEAD_BYTES_MAX} bytes");
            return Failure::new(FailureClass::TooLarge, words);
        }
        if let Some(error) = io_error {
            return Failure::of_io(error);
        }
        if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
            return Failure::new(FailureClass::Reset, "the other side closed the connection");
        }
        if error.is_parse() {
            return Failure::new(FailureClass::Protocol, "what came back is not an answer of HTTP/1.1");
        }
        Failure::new(FailureClass::Other, error.to_string())
    }
}

fn causes<'a>(error: &'a hyper::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    })
}
