//! Connections over TLS: the handshake has the same limits as the rest of the time before a request.

use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName};
use tempfile::TempDir;
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::*;
use crate::{
    auth,
    http::tls::tests::Pair,
    secrets::certificate::{CertificateFiles, read_chain},
};

struct Encrypted {
    server: TestServer,
    files: CertificateFiles,
    _folder: TempDir,
}

async fn start(change: impl FnOnce(&mut HttpConfig)) -> Encrypted {
    let folder = tempfile::tempdir().unwrap();
    let files = Pair::new().write(&folder);
    let mut setup = Setup::default();
    setup.http.tls = Some(files.clone());
    change(&mut setup.http);
    Encrypted { server: TestServer::start_with(setup).await, files, _folder: folder }
}

impl Encrypted {
    async fn connect(&self) -> TlsStream<TcpStream> {
        self.offer(&[]).await.unwrap()
    }

    /// Performs a handshake that offers these protocols.
    async fn offer(&self, protocols: &[&str]) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        read_chain(&self.files.certificate).unwrap().into_iter().for_each(|root| roots.add(root).unwrap());
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        let stream = TcpStream::connect(self.server.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    /// Sends a request on a new connection.
    async fn request(&self, line: &str, headers: &str) -> RawResponse {
        let mut stream = self.connect().await;
        let key = &self.server.key;
        let text =
            format!("{line} HTTP/1.1\r\nhost: api.test\r\nconnection: close\r\nx-api-key: {key}\r\n{headers}\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply).await;
        RawResponse::parse(&reply)
    }
}

#[tokio::test]
async fn slow_handshakes_and_heads_are_cut() {
    let encrypted = start(|http| http.header_timeout_ms = 200).await;
    // No bytes, and the beginning of a TLS record.
    for beginning in [&b""[..], b"\x16\x03\x01\x00\xf0\x01"] {
        assert!(encrypted.server.send(beginning).await.is_empty());
    }
    let mut stream = encrypted.connect().await;
    stream.write_all(b"GET /v1/notes HTTP/1.1\r\nhost:").await.unwrap();
    let mut reply = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut reply)).await;
    assert!(read.is_ok() && reply.is_empty(), "{}", String::from_utf8_lossy(&reply));
}

#[tokio::test]
async fn unknown_alpn_protocols_fail_the_handshake() {
    let encrypted = start(|_| ()).await;
    let refused = encrypted.offer(&["foo"]).await.err().unwrap();
    let alert = refused.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
    let expected = rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol);
    assert_eq!(alert, Some(&expected), "{refused}");
    assert!(encrypted.offer(&["foo", "http/1.1"]).await.is_ok());
}

#[tokio::test]
async fn handshake_counts_toward_the_connection_limit() {
    let encrypted = start(|http| http.connections_max = 1).await;
    let first = TcpStream::connect(encrypted.server.address).await.unwrap();
    let second = encrypted.request("GET /v1/notes", "");
    tokio::pin!(second);
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut second).await.is_err());
    drop(first);
    assert_eq!(second.await.status, 200);
}

#[tokio::test]
async fn stalled_handshake_is_evicted_for_a_new_connection() {
    let encrypted = start(|http| http.connections_max = 1).await;
    let _stalled = TcpStream::connect(encrypted.server.address).await.unwrap();
    let began = tokio::time::Instant::now();
    assert_eq!(encrypted.request("GET /v1/notes", "").await.status, 200);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn handshake_does_not_delay_shutdown() {
    let encrypted = start(|http| (http.header_timeout_ms, http.shutdown_ms) = (600_000, 10_000)).await;
    let stalled = TcpStream::connect(encrypted.server.address).await.unwrap();
    // Connections are accepted in order: once this one is served, the handshake of `stalled` has begun.
    assert_eq!(encrypted.request("GET /v1/notes", "").await.status, 200);
    encrypted.server.stop.send(()).unwrap();
    assert_eq!(encrypted.server.ended.await.unwrap(), ServeOutcome { cut: 0 });
    drop(stalled);
}

#[tokio::test]
async fn plain_http_receives_a_hint_that_the_port_uses_tls() {
    let encrypted = start(|_| ()).await;
    let response = encrypted.server.request("GET /v1/notes", &[], "").await;
    assert_eq!(
        (response.status, response.body.as_str()),
        (400, "This port speaks TLS: the address begins with https://\n")
    );
}

#[tokio::test]
async fn live_key_over_plain_http_is_rejected_in_production() {
    // The caller is on this machine. Its address counts as remote if it is configured as a trusted proxy.
    let trusted = |http: &mut HttpConfig| http.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    for (proxies, headers, live, status) in [
        (false, &[][..], true, 200),
        (true, &["x-forwarded-proto: https"], true, 200),
        (true, &["x-forwarded-proto: http"], true, 403),
        (true, &[], true, 403),
        (true, &[], false, 200),
    ] {
        let mut setup = Setup::default();
        if proxies {
            trusted(&mut setup.http);
        }
        let server = TestServer::start_with(setup).await;
        let environment = if live { auth::Environment::Live } else { auth::Environment::Test };
        let key = server.keys.create(NewKey { environment, ..new_key("notes") }, NOW).await.unwrap();
        let header = format!("x-api-key: {}", *key.text);
        let response = server.request_anonymously("GET /v1/notes", &[&[header.as_str()], headers].concat(), "").await;
        assert_eq!(response.status, status, "{headers:?}, a proxy: {proxies}, live: {live}");
    }
}
