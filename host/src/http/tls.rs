//! TLS of the interfaces' listener: the handshake, and a certificate that may be replaced while the host runs.
//!
//! Owns what is shown to callers, and the looks at the two files. Never ends a connection because of a new certificate.
//! Invariants: what is shown is a certificate with the key that belongs to it; whatever becomes of the files after the
//! start, something is shown.

use std::{future::Future, io, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    crypto::ring,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::{io::AsyncWriteExt, net::TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::{
    limits::{CERTIFICATE_LOOK_MS, PLAIN_GREETING_BYTES},
    secrets::{
        certificate::{Certificate, CertificateError, CertificateFiles},
        validity::expires_at,
    },
};

/// What a connection begins with when the host serves TLS.
pub struct Tls {
    files: CertificateFiles,
    acceptor: TlsAcceptor,
    shown: Arc<Shown>,
    /// What the files held at the start.
    first: Arc<Reading>,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the interfaces cannot be served over TLS: {0} (http.tls-certificate, http.tls-key)")]
    Certificate(#[from] CertificateError),
    #[error("the interfaces cannot be served over TLS: {0}")]
    Versions(#[from] rustls::Error),
}

type Reading = Result<Certificate, CertificateError>;

/// The certificate of the next handshake.
#[derive(Debug)]
struct Shown(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl Tls {
    /// TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1, no certificates of callers. Reads the files.
    pub fn load(files: &CertificateFiles) -> Result<Tls, TlsError> {
        let certificate = files.read()?;
        let shown = Arc::new(Shown(ArcSwap::from_pointee(certificate.certified_key()?)));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(shown.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Tls { files: files.clone(), acceptor, shown, first: Arc::new(Ok(certificate)) })
    }

    /// The worker beside the listener: shows what the files hold once it has changed. `boot` spawns it.
    ///
    /// It looks instead of being told: renewals move links and whole folders, which a watch on two files would miss.
    pub async fn keep_fresh(&self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        let (mut judged, mut before) = (self.first.clone(), self.first.clone());
        loop {
            tokio::select! {
                () = &mut stop => return,
                () = tokio::time::sleep(Duration::from_millis(CERTIFICATE_LOOK_MS)) => {}
            }
            let files = self.files.clone();
            let Ok(reading) = tokio::task::spawn_blocking(move || files.read()).await else { continue };
            let found = Arc::new(reading);
            // Two files are never replaced at the same moment: only what was found twice is meant.
            if found == before && found != judged {
                self.judge(&found);
                judged = found.clone();
            }
            before = found;
        }
    }

    fn judge(&self, found: &Reading) {
        let certified = match found {
            Ok(certificate) => certificate.certified_key(),
            Err(error) => Err(error.clone()),
        };
        let (certificate, key) = (self.files.certificate.display(), self.files.key.display());
        match certified {
            Ok(certified) => {
                self.shown.0.store(Arc::new(certified));
                tracing::info!(%certificate, "new connections are shown the new certificate");
            }
            Err(error) => tracing::error!(
                %certificate, %key,
                "the new certificate is not used, the one before is still shown: {error}. Write both files again, the \
                 certificate with its chain and the key that belongs to it; they are looked at every second"
            ),
        }
    }

    /// Returns the expiry of the current certificate, in seconds since 1970. `None` if its date cannot be read.
    pub fn expires_at(&self) -> Option<u64> {
        let certificate = self.shown.0.load();
        expires_at(certificate.cert.first()?)
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }
}

/// The handshake. Who speaks plain HTTP is told so: silence or an alert looks like a host that is broken.
pub(super) async fn accept(acceptor: &TlsAcceptor, mut stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    let mut first = [0];
    stream.peek(&mut first).await?;
    if first.iter().all(u8::is_ascii_alphabetic) {
        refuse_plain_http(&mut stream).await?;
        return Err(io::ErrorKind::InvalidData.into());
    }
    acceptor.accept(stream).await
}

async fn refuse_plain_http(stream: &mut TcpStream) -> io::Result<()> {
    // What was sent is read, or closing would take the answer away from the caller.
    let _ = stream.try_read(&mut vec![0; PLAIN_GREETING_BYTES]);
    let text = "This port speaks TLS: the address begins with https://\n";
    let length = text.len();
    let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close";
    stream.write_all(format!("{head}\r\ncontent-length: {length}\r\n\r\n{text}").as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
pub(super) mod tests;
