//! A self-signed certificate for this machine: server acceptors that present it, and connections that trust only it.

use std::{fs, path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client::TlsStream};

/// A certificate and its private key as PEM.
#[derive(Clone)]
pub struct TestCertificate {
    pub certificate: String,
    pub key: String,
}

impl TestCertificate {
    /// Generates a self-signed certificate for localhost and 127.0.0.1.
    pub fn new() -> TestCertificate {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let generated = rcgen::generate_simple_self_signed(names).expect("a certificate");
        TestCertificate { certificate: generated.cert.pem(), key: generated.signing_key.serialize_pem() }
    }

    /// Writes `tls.crt` and `tls.key` into the folder.
    pub fn write(&self, folder: &Path) {
        fs::write(folder.join("tls.crt"), &self.certificate).expect("write the certificate");
        fs::write(folder.join("tls.key"), &self.key).expect("write the key");
    }

    /// Connects to `base` ("http://127.0.0.1:1234"). Returns `None` if the handshake fails, for example
    /// because the server presents another certificate.
    pub async fn connect(&self, base: &str, protocols: &[&str]) -> Option<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der()).expect("a root");
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        let stream = TcpStream::connect(base.trim_start_matches("http://")).await.expect("a connection");
        let name = ServerName::try_from("localhost").expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()
    }

    /// Returns an acceptor for a server that the test runs itself.
    pub fn acceptor(&self) -> TlsAcceptor {
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_single_cert(vec![self.der()], key)
            .expect("a certificate with its key");
        TlsAcceptor::from(Arc::new(config))
    }

    fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.certificate.as_bytes()).expect("a certificate")
    }
}
