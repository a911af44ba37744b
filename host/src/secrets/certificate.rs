//! The certificate of a listener and its private key, from PEM files.
//!
//! Reads both files, and checks that the key belongs to the certificate when it is converted for TLS. Callers decide
//! when to read. No error contains any part of a key. Expiry is not checked: it is reported to the operator.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use rustls::{
    InconsistentKeys,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};
use zeroize::Zeroizing;

use crate::{limits::PEM_FILE_BYTES_MAX, regular_file};

/// Paths of a certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Content of the two files at one time: the certificate with its chain, and a key.
#[derive(Debug, PartialEq)]
pub struct Certificate {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

/// Why a PEM file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PemFileError {
    #[error("{0} cannot be read ({1})")]
    Unreadable(PathBuf, String),
    #[error("{0} is larger than {max} bytes: is it the right file?", max = PEM_FILE_BYTES_MAX)]
    TooLarge(PathBuf),
}

/// Why there is no usable certificate. Each message is a sentence without its full stop.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CertificateError {
    #[error(transparent)]
    File(#[from] PemFileError),
    #[error("{0} holds no certificate in PEM (\"-----BEGIN CERTIFICATE-----\")")]
    NoCertificate(PathBuf),
    #[error("{0} holds no private key in PEM without a passphrase (\"-----BEGIN PRIVATE KEY-----\")")]
    NoKey(PathBuf),
    #[error("the private key does not belong to the first certificate of the chain")]
    Apart,
    #[error("the certificate and its key cannot be used: {0}")]
    Unusable(rustls::Error),
}

impl CertificateFiles {
    /// Reads both files. Blocking.
    pub fn read(&self) -> Result<Certificate, CertificateError> {
        Ok(Certificate { chain: read_chain(&self.certificate)?, key: read_key(&self.key)? })
    }
}

impl Certificate {
    /// Returns the form that TLS uses. Returns an error if the key does not belong to the certificate, or if TLS cannot
    /// use one of them.
    pub fn certified_key(&self) -> Result<CertifiedKey, CertificateError> {
        CertifiedKey::from_der(self.chain.clone(), self.key.clone_key(), &ring::default_provider()).map_err(|error| {
            match error {
                rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => CertificateError::Apart,
                error => CertificateError::Unusable(error),
            }
        })
    }
}

/// Reads the certificate chain, the certificate itself first.
pub fn read_chain(file: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let pem = read_pem(file)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| CertificateError::NoCertificate(file.to_owned()))
}

pub fn read_key(file: &Path) -> Result<PrivateKeyDer<'static>, CertificateError> {
    PrivateKeyDer::from_pem_slice(&read_pem(file)?).map_err(|_| CertificateError::NoKey(file.to_owned()))
}

/// Reads a whole file within its size limit. The buffer is wiped when dropped, because it may hold a key.
pub fn read_pem(path: &Path) -> Result<Zeroizing<Vec<u8>>, PemFileError> {
    let unreadable = |error: std::io::Error| PemFileError::Unreadable(path.to_owned(), error.to_string());
    let file = regular_file::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len().min(PEM_FILE_BYTES_MAX + 1);
    // Allocated once: a buffer that grows would leave copies behind.
    let mut pem = Zeroizing::new(Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1));
    file.take(PEM_FILE_BYTES_MAX + 1).read_to_end(&mut pem).map_err(unreadable)?;
    if pem.len() as u64 > PEM_FILE_BYTES_MAX {
        return Err(PemFileError::TooLarge(path.to_owned()));
    }
    Ok(pem)
}
