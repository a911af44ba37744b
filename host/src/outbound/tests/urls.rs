//! Table of URLs as people write them.

use super::*;
use crate::limits::OUTBOUND_URL_BYTES_MAX;

fn check(text: &str) -> Result<Target, UrlError> {
    check_url(text, &AddressRule::default(), Scheme::HttpOrHttps)
}

#[test]
fn invalid_url_is_rejected_with_its_reason() {
    let cases = [
        ("", UrlError::NotAUrl),
        ("example.com/hook", UrlError::NotAUrl),
        ("https:example.com", UrlError::NotAUrl),
        ("https:/example.com", UrlError::NotAUrl),
        ("https:///example.com", UrlError::NotAUrl),
        ("https:\\\\example.com", UrlError::NotAUrl),
        ("https://example.com\\@10.0.0.1/", UrlError::NotAUrl),
        ("https://", UrlError::NotAUrl),
        ("https://?x", UrlError::NotAUrl),
        ("https://:443/", UrlError::NotAUrl),
        ("https://example.com:65536/", UrlError::NotAUrl),
        ("https://example.com:x/", UrlError::NotAUrl),
        ("https://exa%00mple.com/", UrlError::NotAUrl),
        ("https://exa%2fmple.com/", UrlError::NotAUrl),
        ("https://[::1/", UrlError::NotAUrl),
        ("https://[fe80::1%25eth0]/", UrlError::NotAUrl),
        ("https://[v1.x]/", UrlError::NotAUrl),
        ("https://1.2.3.4.5/", UrlError::NotAUrl),
        ("https://256.1.1.1/", UrlError::NotAUrl),
        ("https://xn--a/", UrlError::NotAUrl),
        (" https://example.com/", UrlError::Blanks),
        ("https://exam\nple.com/", UrlError::Blanks),
        ("https://example.com/\t", UrlError::Blanks),
        ("https://example.com/\u{a0}", UrlError::Blanks),
        ("ftp://example.com/", UrlError::WrongScheme),
        ("file:///etc/passwd", UrlError::NotAUrl),
        ("gopher://example.com/", UrlError::WrongScheme),
        ("ws://example.com/", UrlError::WrongScheme),
        ("unix://run/socket", UrlError::WrongScheme),
        ("https://user@example.com/", UrlError::UserInfo),
        ("https://user:password@example.com/", UrlError::UserInfo),
        ("https://:@example.com/", UrlError::UserInfo),
        ("https://@example.com/", UrlError::UserInfo),
        ("https://example.com@10.0.0.1/", UrlError::UserInfo),
        ("https://example.com/#part", UrlError::Fragment),
        ("https://example.com/#", UrlError::Fragment),
        ("https://example.com:0/", UrlError::PortZero),
        ("https://printer/", UrlError::NotAFullName),
        ("https://example.com./", UrlError::NotAFullName),
        ("https://a..example.com/", UrlError::NotAFullName),
        ("https://.example.com/", UrlError::NotAFullName),
    ];
    for (text, expected) in cases {
        assert_eq!(check(text).map(|target| target.origin().to_string()), Err(expected), "{text:?}");
    }
}

#[test]
fn address_is_checked_in_any_notation() {
    let loopback = [
        "127.0.0.1",
        "127.1",
        "127.0.0.1.",
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.01",
        "%31%32%37.0.0.1",
        "\u{ff11}27.0.0.1",
        "127\u{3002}0.0.1",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "localhost",
        "LOCALHOST",
        "a.localhost",
        "\u{24db}ocalhost",
    ];
    for host in loopback {
        let result = check(&format!("http://{host}/")).map(|target| target.origin().to_string());
        assert_eq!(result, Err(UrlError::Address(AddressError::Loopback)), "{host}");
    }
    for (host, kind) in
        [("0", AddressError::Unspecified), ("0xa9fea9fe", AddressError::Metadata), ("[fd00::1]", AddressError::Private)]
    {
        let result = check(&format!("https://{host}/")).map(|target| target.origin().to_string());
        assert_eq!(result, Err(UrlError::Address(kind)), "{host}");
    }
}

#[test]
fn accepted_url_is_normalised() {
    let cases = [
        ("https://example.com", "https://example.com:443", "example.com", "/"),
        ("HTTPS://Example.COM:443/a?b=c", "https://example.com:443", "example.com", "/a?b=c"),
        ("http://example.com:8080/", "http://example.com:8080", "example.com:8080", "/"),
        (
            "https://b\u{fc}cher.example/\u{e4}?\u{f6}",
            "https://xn--bcher-kva.example:443",
            "xn--bcher-kva.example",
            "/%C3%A4?%C3%B6",
        ),
        ("https://8.8.8.8/a/../b", "https://8.8.8.8:443", "8.8.8.8", "/b"),
        ("https://134744072/", "https://8.8.8.8:443", "8.8.8.8", "/"),
        ("https://[2606:4700:0::1111]:8443/", "https://[2606:4700::1111]:8443", "[2606:4700::1111]:8443", "/"),
        ("https://example.com//other.example/", "https://example.com:443", "example.com", "//other.example/"),
    ];
    for (text, origin, host, path) in cases {
        let target = check(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let got = (&**target.origin(), target.host_header().to_str().unwrap(), target.path().to_string());
        assert_eq!(got, (origin, host, path.to_owned()), "{text}");
    }
}

#[test]
fn http_is_rejected_if_https_is_required() {
    let result = check_url("http://example.com/", &AddressRule::default(), Scheme::HttpsOnly);
    assert_eq!(result.unwrap_err(), UrlError::HttpsRequired);
    assert!(check_url("https://example.com/", &AddressRule::default(), Scheme::HttpsOnly).unwrap().is_https());
}

#[test]
fn allowed_network_permits_its_addresses_and_names_without_a_dot() {
    for text in ["http://127.0.0.1:9000/", "http://localhost:9000/", "http://receiver:9000/"] {
        assert!(check_url(text, &loopback(), Scheme::HttpOrHttps).is_ok(), "{text}");
    }
    let result = check_url("http://192.168.0.1/", &loopback(), Scheme::HttpOrHttps).unwrap_err();
    assert_eq!(result, UrlError::Address(AddressError::Private));
}

#[test]
fn length_of_a_url_is_bounded() {
    let of_length = |length: usize| format!("https://example.com/{}", "x".repeat(length - 20));
    assert!(check(&of_length(OUTBOUND_URL_BYTES_MAX)).is_ok());
    assert_eq!(check(&of_length(OUTBOUND_URL_BYTES_MAX + 1)).unwrap_err(), UrlError::TooLong);
    let label = "x".repeat(64);
    assert!(check(&format!("https://{label}.example/")).is_err());
}

#[test]
fn check_neither_panics_nor_accepts_local_addresses() {
    proptest::proptest!(|(text in "(https?:/{0,3})?[\\[\\]0-9a-fx:.@%#?/\\\\ -]{0,40}")| {
        if let Ok(target) = check(&text)
            && let crate::outbound::target::TargetHost::Address(ip) = target.host()
        {
            proptest::prop_assert!(AddressRule::default().check(*ip).is_ok(), "{text}");
        }
    });
}
