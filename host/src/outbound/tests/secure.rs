//! TLS: whose certificates are believed, and the words where they are not.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

use super::{
    receiver::{OK, Receiver, answer_all},
    *,
};

/// Somebody who signs certificates.
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

/// Speaks TLS with such a certificate and answers every request.
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

/// A client that trusts the issuer, and finds every name on this machine.
fn trusting(issuer: &CertifiedIssuer<'static, KeyPair>) -> Client {
    let mut roots = Roots::built_in();
    roots.add(issuer.pem().as_bytes()).unwrap();
    Client::new(roots, Names::new(&[("a.example", &[&["127.0.0.1"]])])).unwrap()
}

fn https(receiver: &Receiver) -> Call {
    call(&format!("https://a.example:{}/hook", receiver.address.port()))
}

async fn assert_tls_failure(client: Client, receiver: Receiver, reason: Reason) {
    let failure = client.send(&https(&receiver), &loopback()).await.unwrap_err();
    assert_eq!((failure.class, failure.reason), (FailureClass::Tls, Some(reason)), "{failure}");
    assert!(failure.words.contains(&reason.to_string()), "{failure}");
}

#[tokio::test]
async fn server_that_ends_the_handshake_is_named_with_its_alert() {
    let receiver = Receiver::start(|_, mut stream| async move {
        // A fatal alert: handshake_failure.
        let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, &[21, 3, 3, 0, 2, 2, 40]).await;
        answer_all(stream, OK).await;
    })
    .await;
    let reason = Reason::HandshakeAlert(rustls::AlertDescription::HandshakeFailure);
    assert_tls_failure(trusting(&issuer()), receiver, reason).await;
}

#[tokio::test]
async fn a_certificate_from_an_issuer_of_the_operator_is_good_and_the_connection_is_kept() {
    let issuer = issuer();
    let receiver = server(certificate_for("a.example"), &issuer).await;
    let client = trusting(&issuer);
    for _ in 0..3 {
        assert_eq!(&client.send(&https(&receiver), &loopback()).await.unwrap().body[..], b"ok");
    }
    assert_eq!((receiver.connections(), client.idle_connections()), (1, 1));
}

#[tokio::test]
async fn a_certificate_can_be_for_an_address() {
    let issuer = issuer();
    let receiver = server(certificate_for("127.0.0.1"), &issuer).await;
    let call = call(&format!("https://{}/", receiver.address));
    assert_eq!(trusting(&issuer).send(&call, &loopback()).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_certificate_from_anybody_else_is_refused() {
    let receiver = server(certificate_for("a.example"), &issuer_named("Anybody")).await;
    assert_tls_failure(trusting(&issuer()), receiver, Reason::CertificateUnknownIssuer).await;
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let issuer = issuer();
    let receiver = server(certificate_for("b.example"), &issuer).await;
    assert_tls_failure(trusting(&issuer), receiver, Reason::CertificateWrongName).await;
}

#[tokio::test]
async fn a_certificate_of_yesterday_or_tomorrow_is_refused() {
    let issuer = issuer();
    let mut past = certificate_for("a.example");
    (past.not_before, past.not_after) = (date_time_ymd(2000, 1, 1), date_time_ymd(2001, 1, 1));
    assert_tls_failure(trusting(&issuer), server(past, &issuer).await, Reason::CertificateExpired).await;
    let mut future = certificate_for("a.example");
    (future.not_before, future.not_after) = (date_time_ymd(3000, 1, 1), date_time_ymd(3001, 1, 1));
    assert_tls_failure(trusting(&issuer), server(future, &issuer).await, Reason::CertificateNotYetValid).await;
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_a_failure_of_tls() {
    let receiver = Receiver::start(async |_, mut stream| {
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").await.ok();
    })
    .await;
    assert_tls_failure(client_with(Names::new(&[("a.example", &[&["127.0.0.1"]])])), receiver, Reason::NotTls).await;
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_never_ends_costs_the_time_for_connecting() {
    let receiver = Receiver::start(async |_, mut stream| {
        tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut Vec::new()).await.ok();
    })
    .await;
    let client = client_with(Names::new(&[("a.example", &[&["127.0.0.1"]])]));
    let failure = client.send(&https(&receiver), &loopback()).await.unwrap_err();
    let expected = (FailureClass::Timeout, crate::limits::OUTBOUND_CONNECT_MS);
    assert_eq!((failure.class, failure.duration_ms), expected, "{failure}");
}

#[test]
fn what_is_no_root_is_refused_and_it_is_said_which() {
    let good = issuer().pem();
    let cases = [
        (String::new(), "there is no certificate in it"),
        ("words".to_owned(), "there is no certificate in it"),
        (
            format!("{good}-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n"),
            "certificate 2 cannot be read",
        ),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned(), "certificate 1 cannot be a root"),
    ];
    for (pem, words) in cases {
        let error = Roots::built_in().add(pem.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
