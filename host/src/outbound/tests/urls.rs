//! Table of addresses as people write them.

use super::*;
use crate::limits::OUTBOUND_URL_BYTES_MAX;

fn check(text: &str) -> Result<Target, UrlRefusal> {
    check_url(text, &AddressRule::default(), Scheme::HttpToo)
}

#[test]
fn what_cannot_be_called_is_refused_with_its_reason() {
    let cases = [
        ("", UrlRefusal::NotAUrl),
        ("example.com/hook", UrlRefusal::NotAUrl),
        ("https:example.com", UrlRefusal::NotAUrl),
        ("https:/example.com", UrlRefusal::NotAUrl),
        ("https:///example.com", UrlRefusal::NotAUrl),
        ("https:\\\\example.com", UrlRefusal::NotAUrl),
        ("https://example.com\\@10.0.0.1/", UrlRefusal::NotAUrl),
        ("https://", UrlRefusal::NotAUrl),
        ("https://?x", UrlRefusal::NotAUrl),
        ("https://:443/", UrlRefusal::NotAUrl),
        ("https://example.com:65536/", UrlRefusal::NotAUrl),
        ("https://example.com:x/", UrlRefusal::NotAUrl),
        ("https://exa%00mple.com/", UrlRefusal::NotAUrl),
        ("https://exa%2fmple.com/", UrlRefusal::NotAUrl),
        ("https://[::1/", UrlRefusal::NotAUrl),
        ("https://[fe80::1%25eth0]/", UrlRefusal::NotAUrl),
        ("https://[v1.x]/", UrlRefusal::NotAUrl),
        ("https://1.2.3.4.5/", UrlRefusal::NotAUrl),
        ("https://256.1.1.1/", UrlRefusal::NotAUrl),
        ("https://xn--a/", UrlRefusal::NotAUrl),
        (" https://example.com/", UrlRefusal::Blanks),
        ("https://exam\nple.com/", UrlRefusal::Blanks),
        ("https://example.com/\t", UrlRefusal::Blanks),
        ("https://example.com/\u{a0}", UrlRefusal::Blanks),
        ("ftp://example.com/", UrlRefusal::WrongScheme),
        ("file:///etc/passwd", UrlRefusal::NotAUrl),
        ("gopher://example.com/", UrlRefusal::WrongScheme),
        ("ws://example.com/", UrlRefusal::WrongScheme),
        ("unix://run/socket", UrlRefusal::WrongScheme),
        ("https://user@example.com/", UrlRefusal::UserInfo),
        ("https://user:password@example.com/", UrlRefusal::UserInfo),
        ("https://:@example.com/", UrlRefusal::UserInfo),
        ("https://@example.com/", UrlRefusal::UserInfo),
        ("https://example.com@10.0.0.1/", UrlRefusal::UserInfo),
        ("https://example.com/#part", UrlRefusal::Fragment),
        ("https://example.com/#", UrlRefusal::Fragment),
        ("https://example.com:0/", UrlRefusal::PortZero),
        ("https://printer/", UrlRefusal::NotAFullName),
        ("https://example.com./", UrlRefusal::NotAFullName),
        ("https://a..example.com/", UrlRefusal::NotAFullName),
        ("https://.example.com/", UrlRefusal::NotAFullName),
    ];
    for (text, expected) in cases {
        assert_eq!(check(text).map(|target| target.place().to_string()), Err(expected), "{text:?}");
    }
}

#[test]
fn an_address_is_judged_whatever_it_is_written_in() {
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
        let refused = check(&format!("http://{host}/")).map(|target| target.place().to_string());
        assert_eq!(refused, Err(UrlRefusal::Address(Forbidden::Loopback)), "{host}");
    }
    for (host, why) in
        [("0", Forbidden::Unspecified), ("0xa9fea9fe", Forbidden::Metadata), ("[fd00::1]", Forbidden::Private)]
    {
        let refused = check(&format!("https://{host}/")).map(|target| target.place().to_string());
        assert_eq!(refused, Err(UrlRefusal::Address(why)), "{host}");
    }
}

#[test]
fn what_can_be_called_is_kept_in_one_spelling() {
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
    for (text, place, host, path) in cases {
        let target = check(text).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
        let got = (&**target.place(), target.host_header().to_str().unwrap(), target.path().to_string());
        assert_eq!(got, (place, host, path.to_owned()), "{text}");
    }
}

#[test]
fn http_will_do_only_where_it_is_said_so() {
    let refused = check_url("http://example.com/", &AddressRule::default(), Scheme::HttpsOnly);
    assert_eq!(refused.unwrap_err(), UrlRefusal::HttpsRequired);
    assert!(check_url("https://example.com/", &AddressRule::default(), Scheme::HttpsOnly).unwrap().is_https());
}

#[test]
fn an_allowed_network_allows_its_addresses_and_names_without_a_dot() {
    for text in ["http://127.0.0.1:9000/", "http://localhost:9000/", "http://receiver:9000/"] {
        assert!(check_url(text, &loopback(), Scheme::HttpToo).is_ok(), "{text}");
    }
    let refused = check_url("http://192.168.0.1/", &loopback(), Scheme::HttpToo).unwrap_err();
    assert_eq!(refused, UrlRefusal::Address(Forbidden::Private));
}

#[test]
fn an_address_has_a_length() {
    let of_length = |length: usize| format!("https://example.com/{}", "x".repeat(length - 20));
    assert!(check(&of_length(OUTBOUND_URL_BYTES_MAX)).is_ok());
    assert_eq!(check(&of_length(OUTBOUND_URL_BYTES_MAX + 1)).unwrap_err(), UrlRefusal::TooLong);
    let label = "x".repeat(64);
    assert!(check(&format!("https://{label}.example/")).is_err());
}

#[test]
fn no_text_makes_the_check_panic_or_lets_a_local_address_through() {
    proptest::proptest!(|(text in "(https?:/{0,3})?[\\[\\]0-9a-fx:.@%#?/\\\\ -]{0,40}")| {
        if let Ok(target) = check(&text)
            && let crate::outbound::target::Where::Address(ip) = target.host()
        {
            proptest::prop_assert!(AddressRule::default().judge(*ip).is_ok(), "{text}");
        }
    });
}
