//! TLS: accepted certificates, and the reasons for rejected ones.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

use super::{
    receiver::{OK, Receiver, answer_all},
    *,
};

/// Returns a certificate authority.
fn issuer() -> CertifiedIssuer<'static, KeyPair> {
    issuer_named("Operator")
}

fn issuer_named(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn certificate_for(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).unwrap()
}

/// Starts a TLS server that responds to every request. Its certificate has these parameters and this issuer.
async fn server(params: CertificateParams, issuer: &CertifiedIssuer<'static, KeyPair>) -> Receiver {
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    Receiver::start(move |_, stream| {
        let acceptor = acceptor.clone();
        async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                answer_all(stream, OK).await;
            }
        }
    })
    .await
}

/// Returns a client that trusts the issuer and resolves `a.example` to this machine.
fn trusting(issuer: &CertifiedIssuer<'static, KeyPair>) -> Client {
    let mut roots = Roots::built_in();
    roots.add(issuer.pem().as_bytes()).unwrap();
    Client::new(roots, Names::new(&[("a.example", &[&["127.0.0.1"]])])).unwrap()
}

fn https(receiver: &Receiver) -> OutboundCall {
    call(&format!("https://a.example:{}/hook", receiver.address.port()))
}

async fn assert_tls_error(client: Client, receiver: Receiver, reason: Reason) {
    let error = client.send(&https(&receiver), &loopback()).await.unwrap_err();
    assert_eq!((error.class, error.reason), (OutboundErrorClass::Tls, Some(reason)), "{error}");
    assert!(error.message.contains(&reason.to_string()), "{error}");
}

#[tokio::test]
async fn handshake_ended_by_the_server_is_reported_with_its_alert() {
    let receiver = Receiver::start(|_, mut stream| async move {
        // A fatal alert: handshake_failure.
        let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, &[21, 3, 3, 0, 2, 2, 40]).await;
        answer_all(stream, OK).await;
    })
    .await;
    let reason = Reason::HandshakeAlert(rustls::AlertDescription::HandshakeFailure);
    assert_tls_error(trusting(&issuer()), receiver, reason).await;
}

#[tokio::test]
async fn certificate_from_a_configured_issuer_is_accepted_and_the_connection_is_reused() {
    let issuer = issuer();
    let receiver = server(certificate_for("a.example"), &issuer).await;
    let client = trusting(&issuer);
    for _ in 0..3 {
        assert_eq!(&client.send(&https(&receiver), &loopback()).await.unwrap().body[..], b"ok");
    }
    assert_eq!((receiver.connections(), client.idle_connections()), (1, 1));
}

#[tokio::test]
async fn certificate_for_an_ip_address_is_accepted() {
    let issuer = issuer();
    let receiver = server(certificate_for("127.0.0.1"), &issuer).await;
    let call = call(&format!("https://{}/", receiver.address));
    assert_eq!(trusting(&issuer).send(&call, &loopback()).await.unwrap().status, 200);
}

#[tokio::test]
async fn certificate_from_an_unknown_issuer_is_rejected() {
    let receiver = server(certificate_for("a.example"), &issuer_named("Other")).await;
    assert_tls_error(trusting(&issuer()), receiver, Reason::CertificateUnknownIssuer).await;
}

#[tokio::test]
async fn certificate_for_another_name_is_rejected() {
    let issuer = issuer();
    let receiver = server(certificate_for("b.example"), &issuer).await;
    assert_tls_error(trusting(&issuer), receiver, Reason::CertificateWrongName).await;
}

#[tokio::test]
async fn expired_or_not_yet_valid_certificate_is_rejected() {
    let issuer = issuer();
    let mut past = certificate_for("a.example");
    (past.not_before, past.not_after) = (date_time_ymd(2000, 1, 1), date_time_ymd(2001, 1, 1));
    assert_tls_error(trusting(&issuer), server(past, &issuer).await, Reason::CertificateExpired).await;
    let mut future = certificate_for("a.example");
    (future.not_before, future.not_after) = (date_time_ymd(3000, 1, 1), date_time_ymd(3001, 1, 1));
    assert_tls_error(trusting(&issuer), server(future, &issuer).await, Reason::CertificateNotYetValid).await;
}

#[tokio::test]
async fn server_without_tls_causes_a_tls_error() {
    let receiver = Receiver::start(async |_, mut stream| {
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").await.ok();
    })
    .await;
    assert_tls_error(client_with(Names::new(&[("a.example", &[&["127.0.0.1"]])])), receiver, Reason::NotTls).await;
}

#[tokio::test(start_paused = true)]
async fn handshake_that_never_ends_causes_a_timeout() {
    let receiver = Receiver::start(async |_, mut stream| {
        tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut Vec::new()).await.ok();
    })
    .await;
    let client = client_with(Names::new(&[("a.example", &[&["127.0.0.1"]])]));
    let error = client.send(&https(&receiver), &loopback()).await.unwrap_err();
    let expected = (OutboundErrorClass::Timeout, crate::limits::OUTBOUND_CONNECT_MS);
    assert_eq!((error.class, error.duration_ms), expected, "{error}");
}

#[test]
fn invalid_root_is_rejected_with_the_reason() {
    let valid = issuer().pem();
    let cases = [
        (String::new(), "there is no certificate in it"),
        ("text".to_owned(), "there is no certificate in it"),
        (
            format!("{valid}-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n"),
            "certificate 2 cannot be read",
        ),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned(), "certificate 1 cannot be a root"),
    ];
    for (pem, expected) in cases {
        let error = Roots::built_in().add(pem.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
