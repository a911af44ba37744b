//! Reasons of failed connections that the owner of an endpoint may see: a stable code and a sentence.
//!
//! Invariant: neither contains an address, name, path or configuration of the host.

use std::fmt;

use rustls::{AlertDescription, CertificateError, Error};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    CertificateExpired,
    CertificateNotYetValid,
    CertificateWrongName,
    CertificateUnknownIssuer,
    CertificateRevoked,
    CertificateInvalid,
    /// The server ended the handshake.
    HandshakeAlert(AlertDescription),
    NoCommonProtocol,
    NotTls,
    HandshakeFailed,
    OwnListener,
}

impl Reason {
    /// Returns the code that is stored with attempts.
    pub fn code(self) -> &'static str {
        match self {
            Reason::CertificateExpired => "certificate-expired",
            Reason::CertificateNotYetValid => "certificate-not-yet-valid",
            Reason::CertificateWrongName => "certificate-wrong-name",
            Reason::CertificateUnknownIssuer => "certificate-unknown-issuer",
            Reason::CertificateRevoked => "certificate-revoked",
            Reason::CertificateInvalid => "certificate-invalid",
            Reason::HandshakeAlert(_) => "handshake-alert",
            Reason::NoCommonProtocol => "no-common-protocol",
            Reason::NotTls => "not-tls",
            Reason::HandshakeFailed => "handshake-failed",
            Reason::OwnListener => "own-listener",
        }
    }

    pub(super) fn from_tls(error: &Error) -> Reason {
        match error {
            Error::InvalidCertificate(wrong) => Reason::from_certificate(wrong),
            Error::NoCertificatesPresented => Reason::CertificateInvalid,
            Error::AlertReceived(alert) => Reason::HandshakeAlert(*alert),
            Error::PeerIncompatible(_) | Error::NoApplicationProtocol => Reason::NoCommonProtocol,
            Error::InvalidMessage(_) => Reason::NotTls,
            _ => Reason::HandshakeFailed,
        }
    }

    fn from_certificate(wrong: &CertificateError) -> Reason {
        use CertificateError as Wrong;
        match wrong {
            Wrong::Expired | Wrong::ExpiredContext { .. } => Reason::CertificateExpired,
            Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => Reason::CertificateNotYetValid,
            Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => Reason::CertificateWrongName,
            Wrong::UnknownIssuer => Reason::CertificateUnknownIssuer,
            Wrong::Revoked => Reason::CertificateRevoked,
            _ => Reason::CertificateInvalid,
        }
    }
}

impl fmt::Display for Reason {
    /// Writes a sentence without its full stop.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Reason::CertificateExpired => "the certificate has expired",
            Reason::CertificateNotYetValid => "the certificate is not valid yet",
            Reason::CertificateWrongName => "the certificate is for another name",
            Reason::CertificateUnknownIssuer => "the certificate is from an issuer that this host does not trust",
            Reason::CertificateRevoked => "the certificate was revoked",
            Reason::CertificateInvalid => "the certificate is not valid",
            Reason::HandshakeAlert(alert) => {
                return write!(formatter, "the server ended the TLS handshake with the alert {alert:?}");
            }
            Reason::NoCommonProtocol => "the server and this host have no TLS version, cipher or protocol in common",
            Reason::NotTls => "the server does not answer in TLS",
            Reason::HandshakeFailed => "the TLS handshake failed",
            Reason::OwnListener => "the address leads to a listener of this host, which is never called",
        })
    }
}
