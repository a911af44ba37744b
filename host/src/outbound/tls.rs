//! Trusted certificates: the built-in public roots, and those that the operator adds.
//!
//! The roots are built in, so the host trusts the same certificates on every machine, needs no certificate package in a
//! small image, and no environment variable changes its trust. Operators who want the roots of the system add its
//! bundle.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

use crate::{
    limits::OUTBOUND_TLS_SESSIONS,
    secrets::certificate::{PemFileError, read_pem},
};

/// Root certificates of servers.
#[derive(Clone, Debug)]
pub struct Roots(RootCertStore);

/// Why the operator's roots cannot be used. Numbers count from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RootError {
    #[error("certificate {0} cannot be read as PEM")]
    Pem(usize),
    #[error("certificate {0} cannot be a root: {1}")]
    Unusable(usize, rustls::Error),
    #[error("there is no certificate in it")]
    Empty,
    #[error(transparent)]
    File(#[from] PemFileError),
    #[error("{0}: {1}")]
    Of(PathBuf, Box<RootError>),
}

impl Roots {
    pub fn built_in() -> Roots {
        Roots(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() })
    }

    /// Adds all certificates in `pem`.
    pub fn add(&mut self, pem: &[u8]) -> Result<(), RootError> {
        let mut count = 0;
        for certificate in CertificateDer::pem_slice_iter(pem) {
            count += 1;
            let certificate = certificate.map_err(|_| RootError::Pem(count))?;
            self.0.add(certificate).map_err(|error| RootError::Unusable(count, error))?;
        }
        if count == 0 { Err(RootError::Empty) } else { Ok(()) }
    }

    /// Adds all certificates of a PEM file.
    pub fn add_file(&mut self, path: &Path) -> Result<(), RootError> {
        self.add(&read_pem(path)?).map_err(|error| RootError::Of(path.to_owned(), Box::new(error)))
    }

    /// Builds the TLS configuration: TLS 1.2 and 1.3, HTTP/1.1, no client certificate.
    pub(super) fn into_config(self) -> Result<ClientConfig, rustls::Error> {
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(self.0)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.resumption = Resumption::in_memory_sessions(OUTBOUND_TLS_SESSIONS);
        Ok(config)
    }
}
