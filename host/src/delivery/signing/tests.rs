use super::*;
use http::HeaderMap;

use crate::changes::endpoint::Algorithm;

mod independent;
mod rfc_4231;

const NOW: u64 = 1_767_225_600;

fn secret(byte: u8) -> SigningSecret {
    SigningSecret::from_bytes(&[byte; 32]).unwrap()
}

fn signed(body: &[u8], secrets: &[SigningSecret]) -> HeaderMap {
    signed_at(NOW, body, secrets)
}

fn signed_at(timestamp: u64, body: &[u8], secrets: &[SigningSecret]) -> HeaderMap {
    HeaderMap::from_iter(sign(&Message { id: "event_01", timestamp, body }, secrets).unwrap())
}

fn bodies() -> Vec<Vec<u8>> {
    let long = vec![b'x'; 1 << 20];
    [&b""[..], b"{}", "{\"name\":\"J\u{fc}rgen \u{1f69a}\"}".as_bytes(), b"{}\n", b"\r\n", b"\0\xff\xfe", &long]
        .map(<[u8]>::to_vec)
        .into()
}

#[test]
fn signed_body_is_accepted_and_a_changed_byte_is_rejected() {
    for body in bodies() {
        let headers = signed(&body, &[secret(1)]);
        assert_eq!(verify(&headers, &body, &[secret(1)], NOW), Ok(()));
        let mut longer = body.clone();
        longer.push(b'\n');
        assert_eq!(verify(&headers, &longer, &[secret(1)], NOW), Err(Mismatch::WrongSignature));
        let mut changed = body.clone();
        if let Some(last) = changed.last_mut() {
            *last ^= 1;
            assert_eq!(verify(&headers, &changed, &[secret(1)], NOW), Err(Mismatch::WrongSignature));
        }
    }
}

#[test]
fn example_of_the_specification_has_the_specified_signature() {
    let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let message =
        Message { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: br#"{"test": 2432232314}"# };
    let [id, timestamp, signature] = sign(&message, &[secret]).unwrap();
    assert_eq!((id.0.as_str(), id.1.to_str().unwrap()), ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"));
    assert_eq!((timestamp.0.as_str(), timestamp.1.to_str().unwrap()), ("webhook-timestamp", "1614265330"));
    assert_eq!(signature.0.as_str(), "webhook-signature");
    assert_eq!(signature.1.to_str().unwrap(), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

#[test]
fn either_secret_verifies_during_a_rotation_and_only_the_new_one_after_it() {
    let both = signed(b"{}", &[secret(2), secret(1)]);
    assert_eq!(both[WEBHOOK_SIGNATURE].to_str().unwrap().split(' ').count(), 2);
    assert_eq!(verify(&both, b"{}", &[secret(1)], NOW), Ok(()));
    assert_eq!(verify(&both, b"{}", &[secret(2)], NOW), Ok(()));
    let after = signed(b"{}", &[secret(2)]);
    assert_eq!(verify(&after, b"{}", &[secret(1)], NOW), Err(Mismatch::WrongSignature));
    assert_eq!(verify(&after, b"{}", &[secret(1), secret(2)], NOW), Ok(()), "a receiver may rotate its secrets, too");
}

#[test]
fn timestamps_are_accepted_within_five_minutes() {
    let check = |timestamp, expected| {
        assert_eq!(verify(&signed_at(timestamp, b"{}", &[secret(1)]), b"{}", &[secret(1)], NOW), expected);
    };
    check(NOW - 300, Ok(()));
    check(NOW + 300, Ok(()));
    check(NOW - 301, Err(Mismatch::TooOld(301)));
    check(NOW + 301, Err(Mismatch::TooNew(301)));
    check(0, Err(Mismatch::TooOld(NOW)));
    check(u64::MAX, Err(Mismatch::TooNew(u64::MAX - NOW)));
}

#[test]
fn signature_covers_id_and_time() {
    for (name, value) in [(WEBHOOK_ID, "event_02"), (WEBHOOK_TIMESTAMP, "1767225601")] {
        let mut headers = signed(b"{}", &[secret(1)]);
        headers.insert(name, HeaderValue::from_static(value));
        assert_eq!(verify(&headers, b"{}", &[secret(1)], NOW), Err(Mismatch::WrongSignature));
    }
}

#[test]
fn missing_repeated_and_malformed_headers_are_rejected_by_name() {
    for name in [WEBHOOK_ID, WEBHOOK_TIMESTAMP, WEBHOOK_SIGNATURE] {
        let whole = signed(b"{}", &[secret(1)]);
        let check =
            |headers: &HeaderMap, expected| assert_eq!(verify(headers, b"{}", &[secret(1)], NOW), Err(expected));
        let mut missing = whole.clone();
        missing.remove(&name);
        check(&missing, Mismatch::Missing(name.clone()));
        let mut repeated = whole.clone();
        repeated.append(&name, whole[&name].clone());
        check(&repeated, Mismatch::Repeated(name.clone()));
        let mut malformed = whole;
        malformed.insert(&name, HeaderValue::from_bytes(b"\xff").unwrap());
        check(&malformed, Mismatch::Malformed(name.clone()));
    }
}

#[test]
fn timestamp_that_is_not_plain_seconds_is_rejected() {
    for value in ["", "-1", "+1767225600", "01767225600", "1767225600.0", "1767225600 ", "99999999999999999999", "soon"]
    {
        let mut headers = signed(b"{}", &[secret(1)]);
        headers.insert(WEBHOOK_TIMESTAMP, HeaderValue::from_str(value).unwrap());
        let expected = Err(Mismatch::Malformed(WEBHOOK_TIMESTAMP));
        assert_eq!(verify(&headers, b"{}", &[secret(1)], NOW), expected, "{value:?}");
    }
}

#[test]
fn truncated_malformed_and_unversioned_signatures_are_rejected() {
    let whole = signed(b"{}", &[secret(1)]);
    let signature = whole[WEBHOOK_SIGNATURE].to_str().unwrap();
    let many = vec!["v1,AAAA"; crate::limits::SIGNATURES_CHECKED_MAX].join(" ");
    let cases = [
        (signature[..signature.len() - 4].to_owned(), Mismatch::WrongSignature),
        (signature.to_lowercase(), Mismatch::WrongSignature),
        ("v1,".to_owned(), Mismatch::WrongSignature),
        ("v1,%%%%".to_owned(), Mismatch::WrongSignature),
        (format!("{many} {signature}"), Mismatch::WrongSignature),
        (signature.replace("v1,", "v1a,"), Mismatch::NoSignature),
        (signature.replace("v1,", ""), Mismatch::NoSignature),
        (String::new(), Mismatch::NoSignature),
    ];
    for (value, expected) in cases {
        let mut headers = whole.clone();
        headers.insert(WEBHOOK_SIGNATURE, HeaderValue::from_str(&value).unwrap());
        assert_eq!(verify(&headers, b"{}", &[secret(1)], NOW), Err(expected), "{value:?}");
    }
}

#[test]
fn signatures_of_other_versions_are_ignored() {
    let mut headers = signed(b"{}", &[secret(1)]);
    let value = format!("v1a,AAAA v2 {}", headers[WEBHOOK_SIGNATURE].to_str().unwrap());
    headers.insert(WEBHOOK_SIGNATURE, HeaderValue::from_str(&value).unwrap());
    assert_eq!(verify(&headers, b"{}", &[secret(1)], NOW), Ok(()));
}

#[test]
fn invalid_message_id_is_not_signed() {
    for id in ["", "event.01", "event 01", "event\n01", "\u{e9}vent"] {
        let message = Message { id, timestamp: NOW, body: b"{}" };
        assert_eq!(sign(&message, &[secret(1)]).unwrap_err(), SigningError::MessageId, "{id:?}");
    }
}

#[test]
fn signing_without_a_secret_fails() {
    let message = Message { id: "event_01", timestamp: NOW, body: b"{}" };
    assert_eq!(sign(&message, &[]).unwrap_err(), SigningError::NoSecret);
}

#[test]
fn secret_round_trips_through_its_string_and_is_never_displayed() {
    let secret = secret(7);
    let text = secret.text();
    assert_eq!(text.expose(), "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=");
    assert_eq!(SigningSecret::parse(text.expose()).unwrap().text().expose(), text.expose());
    assert_eq!(format!("{secret:?}"), "[secret]");
}

#[test]
fn invalid_secret_strings_are_rejected() {
    let of_length = |length| format!("whsec_{}", STANDARD.encode(vec![1; length]));
    for length in [24, 64] {
        assert!(SigningSecret::parse(&of_length(length)).is_ok(), "{length} bytes");
    }
    let wrong = [
        String::new(),
        "whsec_".into(),
        of_length(23),
        of_length(65),
        of_length(32).replace("whsec_", ""),
        of_length(32).replace("whsec", "WHSEC"),
        of_length(32) + "=",
        format!("{} ", of_length(32)),
    ];
    for text in wrong {
        assert_eq!(SigningSecret::parse(&text).unwrap_err(), SigningError::Secret, "{text:?}");
    }
}

#[test]
fn custom_header_is_prefix_and_hex_hmac_of_the_body_alone() {
    for algorithm in [Algorithm::HmacSha256, Algorithm::HmacSha512] {
        let own = CustomHeader::new("X-Signature", "sha=", algorithm).unwrap();
        for body in bodies() {
            let headers = HeaderMap::from_iter([own.sign(b"key", &body).unwrap()]);
            assert_eq!(own.verify(&headers, &[b"key"], &body), Ok(()));
            assert_eq!(own.verify(&headers, &[b"new", b"key"], &body), Ok(()), "two keys in rotation");
            assert_eq!(own.verify(&headers, &[b"new"], &body), Err(Mismatch::WrongSignature));
            assert_eq!(own.verify(&headers, &[b"key"], &[&body[..], b" "].concat()), Err(Mismatch::WrongSignature));
        }
    }
}

#[test]
fn missing_or_malformed_custom_header_is_rejected() {
    let own = CustomHeader::new("X-Signature", "sha512=", Algorithm::HmacSha512).unwrap();
    let name = own.name().clone();
    let (_, whole) = own.sign(b"key", b"{}").unwrap();
    let whole = whole.to_str().unwrap();
    let check = |value: &str, expected| {
        let headers = HeaderMap::from_iter([(name.clone(), HeaderValue::from_str(value).unwrap())]);
        assert_eq!(own.verify(&headers, &[b"key"], b"{}"), expected, "{value:?}");
    };
    assert_eq!(own.verify(&HeaderMap::new(), &[b"key"], b"{}"), Err(Mismatch::Missing(name.clone())));
    check(&whole.replace("512=", "512=00"), Err(Mismatch::WrongSignature));
    check(&whole[..whole.len() - 2], Err(Mismatch::WrongSignature));
    check("sha512=", Err(Mismatch::WrongSignature));
    check(&whole[..whole.len() - 1], Err(Mismatch::Malformed(name.clone())));
    check(&whole.replace("sha512=", ""), Err(Mismatch::Malformed(name.clone())));
    check("sha512=zz", Err(Mismatch::Malformed(name.clone())));
}

#[test]
fn custom_header_cannot_be_a_standard_header_or_contain_line_breaks() {
    for name in ["", "a b", "webhook-signature", "Webhook-Id", "x\n"] {
        assert_eq!(
            CustomHeader::new(name, "", Algorithm::HmacSha256).unwrap_err(),
            SigningError::HeaderName,
            "{name:?}"
        );
    }
    assert_eq!(CustomHeader::new("x", "a\r\nb: ", Algorithm::HmacSha256).unwrap_err(), SigningError::Prefix);
}
