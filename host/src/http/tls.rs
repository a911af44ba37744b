//! TLS of the interfaces' listener: the handshake, and reloading the certificate while the host runs.
//!
//! Owns the served certificate and polls its two files. A new certificate closes no connection.
//!
//! Invariants: the served certificate and key match. A certificate is served regardless of changes to the files after
//! the start.

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
    limits::{CERTIFICATE_POLL_MS, PLAIN_HTTP_DISCARD_BYTES},
    secrets::{
        certificate::{Certificate, CertificateError, CertificateFiles},
        validity::expires_at,
    },
};

/// TLS acceptor with a reloadable certificate.
pub struct Tls {
    files: CertificateFiles,
    acceptor: TlsAcceptor,
    current: Arc<CurrentCertificate>,
    /// Content of the files at the start.
    first: Arc<FileContent>,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the interfaces cannot be served over TLS: {0} (http.tls-certificate, http.tls-key)")]
    Certificate(#[from] CertificateError),
    #[error("the interfaces cannot be served over TLS: {0}")]
    Versions(#[from] rustls::Error),
}

type FileContent = Result<Certificate, CertificateError>;

/// The certificate of new handshakes.
#[derive(Debug)]
struct CurrentCertificate(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl Tls {
    /// Reads the files and configures TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1, without client certificates.
    pub fn load(files: &CertificateFiles) -> Result<Tls, TlsError> {
        let certificate = files.read()?;
        let current = Arc::new(CurrentCertificate(ArcSwap::from_pointee(certificate.certified_key()?)));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Tls { files: files.clone(), acceptor, current, first: Arc::new(Ok(certificate)) })
    }

    /// Serves the new content of the files after a change, until `shutdown`. `boot` spawns this worker.
    ///
    /// It polls, because renewals replace links and whole folders, which a watch on two files would miss.
    pub async fn reload_on_change(&self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        let (mut applied, mut before) = (self.first.clone(), self.first.clone());
        loop {
            tokio::select! {
                () = &mut shutdown => return,
                () = tokio::time::sleep(Duration::from_millis(CERTIFICATE_POLL_MS)) => {}
            }
            let files = self.files.clone();
            let Ok(content) = tokio::task::spawn_blocking(move || files.read()).await else { continue };
            let found = Arc::new(content);
            // The two files are not replaced atomically, so only content that was read twice is used.
            if found == before && found != applied {
                self.apply(&found);
                applied = found.clone();
            }
            before = found;
        }
    }

    fn apply(&self, found: &FileContent) {
        let certified = match found {
            Ok(certificate) => certificate.certified_key(),
            Err(error) => Err(error.clone()),
        };
        let (certificate, key) = (self.files.certificate.display(), self.files.key.display());
        match certified {
            Ok(certified) => {
                self.current.0.store(Arc::new(certified));
                tracing::info!(%certificate, "serving the new certificate to new connections");
            }
            Err(error) => tracing::error!(
                %certificate, %key,
                "failed to use the new certificate, and still serving the previous one: {error}. Write both files \
                 again: the certificate with its chain, and its key. The host reads them every second"
            ),
        }
    }

    /// Returns the expiry of the current certificate, in seconds since 1970. `None` if its date cannot be read.
    pub fn expires_at(&self) -> Option<u64> {
        let certificate = self.current.0.load();
        expires_at(certificate.cert.first()?)
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }
}

/// Performs the handshake. A client that sends plain HTTP receives a plain response, because silence or an alert would
/// suggest a broken host.
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
    // Reads the request first. Closing with unread bytes would discard the response.
    let _ = stream.try_read(&mut vec![0; PLAIN_HTTP_DISCARD_BYTES]);
    let text = "This port speaks TLS: the address begins with https://\n";
    let length = text.len();
    let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close";
    stream.write_all(format!("{head}\r\ncontent-length: {length}\r\n\r\n{text}").as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
pub(super) mod tests;
