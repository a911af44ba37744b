//! Errors of outgoing calls: a class for rules and metrics, and a message for operators.
//!
//! A message names host, port and address, but no path, header or body, because those may contain secrets.

use std::{error::Error, io};

use super::{metered::ResponseTooLong, reason::Reason};
use crate::limits::OUTBOUND_HEAD_BYTES_MAX;

/// Why a call has no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OutboundError {
    pub class: OutboundErrorClass,
    pub message: String,
    /// Reason that may be shown to the owner of the address.
    pub reason: Option<Reason>,
    pub duration_ms: u64,
    /// True if a part of the request may have reached the server.
    pub maybe_sent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutboundErrorClass {
    /// The name has no address or too many of them, or the lookup failed.
    Dns,
    /// The server refused the connection.
    Refused,
    /// The connection ended before there was a response.
    Reset,
    /// The time was up.
    Timeout,
    /// The TLS handshake failed, for example because the certificate is not valid.
    Tls,
    /// The address is neither public nor allowed by the operator, or it is a blocked listener of the host. Nothing was
    /// sent.
    AddressNotAllowed,
    /// The head of the response is too large.
    TooLarge,
    /// The response is not HTTP.
    Protocol,
    Other,
}

impl OutboundErrorClass {
    pub const ALL: [OutboundErrorClass; 9] = [
        OutboundErrorClass::Dns,
        OutboundErrorClass::Refused,
        OutboundErrorClass::Reset,
        OutboundErrorClass::Timeout,
        OutboundErrorClass::Tls,
        OutboundErrorClass::AddressNotAllowed,
        OutboundErrorClass::TooLarge,
        OutboundErrorClass::Protocol,
        OutboundErrorClass::Other,
    ];

    /// Returns the name that is stored, counted and returned.
    pub fn name(self) -> &'static str {
        match self {
            OutboundErrorClass::Dns => "dns",
            OutboundErrorClass::Refused => "refused",
            OutboundErrorClass::Reset => "reset",
            OutboundErrorClass::Timeout => "timeout",
            OutboundErrorClass::Tls => "tls",
            OutboundErrorClass::AddressNotAllowed => "address-not-allowed",
            OutboundErrorClass::TooLarge => "too-large",
            OutboundErrorClass::Protocol => "protocol",
            OutboundErrorClass::Other => "other",
        }
    }
}

impl OutboundError {
    pub(super) fn new(class: OutboundErrorClass, message: impl Into<String>) -> OutboundError {
        OutboundError { class, message: message.into(), reason: None, duration_ms: 0, maybe_sent: false }
    }

    /// Replaces the message.
    pub(super) fn with_message(self, message: String) -> OutboundError {
        OutboundError { message, ..self }
    }

    /// Converts an error of opening a connection or negotiating TLS.
    pub(super) fn from_io(error: &io::Error) -> OutboundError {
        use io::ErrorKind as Kind;
        if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            let reason = Reason::from_tls(error);
            return OutboundError {
                reason: Some(reason),
                ..OutboundError::new(OutboundErrorClass::Tls, reason.to_string())
            };
        }
        match error.kind() {
            Kind::ConnectionRefused => OutboundError::new(OutboundErrorClass::Refused, "the connection was refused"),
            Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::BrokenPipe
            | Kind::NotConnected
            | Kind::UnexpectedEof => OutboundError::new(OutboundErrorClass::Reset, "the server closed the connection"),
            Kind::TimedOut => OutboundError::new(OutboundErrorClass::Timeout, "the server stopped responding"),
            _ => OutboundError::new(OutboundErrorClass::Other, error.to_string()),
        }
    }

    /// Converts an error of sending a request or reading its response.
    pub(super) fn from_hyper(error: &hyper::Error) -> OutboundError {
        let io_error = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>());
        let too_long =
            io_error.and_then(io::Error::get_ref).is_some_and(<dyn Error + Send + Sync>::is::<ResponseTooLong>);
        if too_long || error.is_parse_too_large() {
            let message = format!("the head of the response is longer than {OUTBOUND_HEAD_BYTES_MAX} bytes");
            return OutboundError::new(OutboundErrorClass::TooLarge, message);
        }
        if let Some(error) = io_error {
            return OutboundError::from_io(error);
        }
        if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
            return OutboundError::new(OutboundErrorClass::Reset, "the server closed the connection");
        }
        if error.is_parse() {
            return OutboundError::new(OutboundErrorClass::Protocol, "the response is not HTTP/1.1");
        }
        OutboundError::new(OutboundErrorClass::Other, error.to_string())
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
