use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::published::bytes;

/// The example of EIP-712.
fn mail() -> serde_json::Value {
    json!({
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "version", "type": "string"},
                {"name": "chainId", "type": "uint256"},
                {"name": "verifyingContract", "type": "address"},
            ],
            "Person": [{"name": "name", "type": "string"}, {"name": "wallet", "type": "address"}],
            "Mail": [
                {"name": "from", "type": "Person"},
                {"name": "to", "type": "Person"},
                {"name": "contents", "type": "string"},
            ],
        },
        "primaryType": "Mail",
        "domain": {
            "name": "Ether Mail",
            "version": "1",
            "chainId": 1,
            "verifyingContract": "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
        },
        "message": {
            "from": {"name": "Cow", "wallet": "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"},
            "to": {"name": "Bob", "wallet": "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"},
            "contents": "Hello, Bob!",
        },
    })
}

/// Returns a document with one field of this type and value.
fn with_field(kind: &str, value: impl Into<serde_json::Value>) -> serde_json::Value {
    json!({
        "types": {"Thing": [{"name": "value", "type": kind}]},
        "primaryType": "Thing",
        "domain": {"name": "Things"},
        "message": {"value": value.into()},
    })
}

fn read(document: &serde_json::Value) -> Result<TypedData, KeyringError> {
    TypedData::read(&document.to_string())
}

fn changed(part: &str, value: serde_json::Value) -> serde_json::Value {
    let mut document = mail();
    *document.pointer_mut(part).unwrap() = value;
    document
}

fn assert_rejected(document: &serde_json::Value, at: &str) {
    match read(document) {
        Err(KeyringError::TypedData { at: found, .. }) => assert_eq!(found, at, "{document}"),
        other => panic!("{other:?} for {document}"),
    }
}

#[test]
fn signature_matches_the_eip_712_example() {
    let document = read(&mail()).unwrap();
    assert_eq!(hex::encode(document.digest), "be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2");
    let key = Key::from_bytes(&keccak(b"cow")).unwrap();
    let signature = document.sign(&key).unwrap();
    let expected = "4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d\
                    07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b915621c";
    assert_eq!(hex::encode(signature.to_bytes()), expected);
    assert_eq!(document.signer(&signature).unwrap().to_string(), mail()["message"]["from"]["wallet"]);
}

#[test]
fn domain_type_may_be_omitted() {
    let mut document = mail();
    document["types"].as_object_mut().unwrap().remove("EIP712Domain");
    assert_eq!(read(&document), read(&mail()));
}

#[test]
fn digest_ignores_the_order_of_members_and_white_space() {
    let mail = mail();
    let part = |name: &str| format!("\n \"{name}\" :\t{}", mail[name]);
    let reordered = format!("{{{}}}", ["message", "primaryType", "types", "domain"].map(part).join(" ,"));
    assert_eq!(TypedData::read(&reordered), read(&mail));
}

#[test]
fn every_value_changes_the_digest() {
    let parts = [
        ("/domain/name", json!("Ether mail")),
        ("/domain/chainId", json!(2)),
        ("/message/to/name", json!("")),
        ("/message/to/wallet", json!("0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826")),
        ("/message/contents", json!("Hello, Bob?")),
        ("/types/Person/0/name", json!("nom")),
    ];
    for (part, value) in parts {
        assert_ne!(read(&changed(part, value)), read(&mail()), "{part}");
    }
}

#[test]
fn equal_numbers_in_different_notations_have_the_same_digest() {
    for (kind, spellings) in [
        ("uint8", [json!(255), json!("255"), json!("0xff")]),
        ("int8", [json!(-128), json!("-128"), json!("-0128")]),
        ("uint64", [json!(u64::MAX), json!("18446744073709551615"), json!("0xFFFFFFFFFFFFFFFF")]),
        ("int256", [json!(0), json!("-0"), json!("0x0")]),
    ] {
        let digests = spellings.map(|value| read(&with_field(kind, value)).unwrap());
        assert!(digests.iter().all(|digest| *digest == digests[0]), "{kind}");
    }
}

#[test]
fn number_out_of_range_is_rejected() {
    let above = format!("0x1{}", "0".repeat(64));
    for (kind, held, other) in [
        ("uint8", json!(255), json!(256)),
        ("uint8", json!("0"), json!(-1)),
        ("uint16", json!(65535), json!("65536")),
        ("int8", json!(127), json!(128)),
        ("int8", json!(-128), json!(-129)),
        ("uint256", json!(format!("0x{}", "f".repeat(64))), json!(above)),
        ("int256", json!(format!("0x7f{}", "f".repeat(62))), json!(format!("0x80{}", "0".repeat(62)))),
        ("uint256", json!("9".repeat(77)), json!("9".repeat(78))),
        ("uint256", json!("007"), json!("")),
        ("uint256", json!("0xAb"), json!("0x")),
        ("int256", json!("-7"), json!("-")),
        ("int256", json!("7"), json!("+7")),
        ("int256", json!("7"), json!("-0x7")),
        ("uint256", json!("7"), json!("7 ")),
        ("uint256", json!("7"), json!("٧")),
        ("uint256", json!(1), json!(true)),
    ] {
        assert!(read(&with_field(kind, held.clone())).is_ok(), "{kind} {held}");
        assert_rejected(&with_field(kind, other), "Thing.value");
    }
}

#[test]
fn value_of_wrong_kind_is_rejected() {
    let person = "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826";
    for (kind, held, others) in [
        ("bool", json!(true), vec![json!(1), json!("true")]),
        ("string", json!(""), vec![json!(1), json!(["a"])]),
        ("address", json!(person), vec![json!(person.replace("CD2a", "cD2a")), json!(&person[2..]), json!(0)]),
        ("bytes", json!("0x"), vec![json!(""), json!("00"), json!("0x0"), json!("0xzz"), json!([0])]),
        ("bytes4", json!("0x00ffAB01"), vec![json!("0x"), json!("0x00ffab"), json!("0x00ffab0102")]),
        ("bytes32", json!(format!("0x{}", "07".repeat(32))), vec![json!("0x07")]),
        ("uint8[]", json!([]), vec![json!({}), json!("[]"), json!([256]), json!([[1]])]),
        ("uint8[2]", json!([1, 2]), vec![json!([]), json!([1]), json!([1, 2, 3])]),
        ("uint8[2][]", json!([[1, 2], [3, 4], [5, 6]]), vec![json!([[1, 2, 3], [4, 5, 6]]), json!([1, 2])]),
    ] {
        assert!(read(&with_field(kind, held)).is_ok(), "{kind}");
        others.into_iter().for_each(|other| assert_rejected(&with_field(kind, other), "Thing.value"));
    }
}

#[test]
fn unknown_type_is_rejected() {
    for kind in [
        "",
        " ",
        "uint",
        "int",
        "uint0",
        "uint7",
        "uint264",
        "uint08",
        "int512",
        "bytes0",
        "bytes33",
        "bytes01",
        "bool8",
        "address1",
        "uint256 ",
        "Uint256",
        "Unknown",
        "uint8[",
        "uint8]",
        "uint8[]]",
        "uint8[01]",
        "uint8[-1]",
        "uint8[x]",
        "[]",
        "uint8[1]x",
        "a(b",
        "uint8[18446744073709551616]",
        "bool[][][][][][][][][]",
    ] {
        assert_rejected(&with_field(kind, json!([])), "Thing.value");
    }
}

#[test]
fn ambiguous_document_is_rejected() {
    let person = json!({"name": "name", "type": "string"});
    for (part, value, at) in [
        ("/message/to", json!({"name": "Bob"}), "Person.wallet"),
        ("/message/to", json!("Bob"), "Person"),
        ("/message/to", json!({"name": "B", "wallet": format!("0x{}", "00".repeat(20)), "more": 1}), "Person"),
        ("/message", json!({}), "Mail.from"),
        ("/domain", json!({}), "domain"),
        ("/domain", json!({"title": "Ether Mail"}), "domain"),
        ("/domain", json!({"name": "Ether Mail"}), "EIP712Domain"),
        ("/domain/chainId", json!("one"), "EIP712Domain.chainId"),
        ("/types/EIP712Domain/2/type", json!("uint64"), "EIP712Domain"),
        ("/primaryType", json!("EIP712Domain"), "primaryType"),
        ("/primaryType", json!("mail"), "primaryType"),
        ("/primaryType", json!(1), "primaryType"),
        ("/types/Person", json!("string"), "Person"),
        ("/types/Person", json!([person, person]), "Person"),
        ("/types/Person/0", json!(["name", "string"]), "Person"),
        ("/types/Person/0", json!({"name": "name"}), "Person"),
        ("/types/Person/0", json!({"name": "name", "type": "string", "more": "x"}), "Person"),
        ("/types/Person/0/name", json!("first name"), "Person"),
        ("/types/Person/0/name", json!("1st"), "Person"),
        ("/types/Person/0/name", json!("n".repeat(101)), "Person"),
    ] {
        assert_rejected(&changed(part, value), at);
    }
    let mut unknown_in_domain = mail();
    unknown_in_domain["domain"]["title"] = json!("Ether Mail");
    assert_rejected(&unknown_in_domain, "EIP712Domain");
    for name in ["uint256", "bytes33", "string", "a(b", "", "Personal data"] {
        let mut document = mail();
        document["types"][name] = json!([]);
        assert_rejected(&document, "types");
    }
}

#[test]
fn invalid_document_is_rejected() {
    let mut more = mail();
    more["more"] = json!(1);
    let (deep, text) = ("[".repeat(60_000), mail().to_string());
    let twice = text.replacen("\"name\":\"Bob\"", "\"name\":\"Bob\",\"name\":\"Eve\"", 1);
    for part in ["types", "primaryType", "domain", "message"] {
        let mut document = mail();
        document.as_object_mut().unwrap().remove(part);
        assert_eq!(read(&document), Err(KeyringError::TypedDataJson), "without {part}");
    }
    for text in ["", "null", "[]", "{}", "\"x\"", &deep, &more.to_string(), &twice, &format!("{text} {text}")] {
        assert_eq!(TypedData::read(text), Err(KeyringError::TypedDataJson));
    }
    for value in [json!(null), json!(1.0), json!(1.5), json!(1e30)] {
        assert_eq!(read(&with_field("uint256", value)), Err(KeyringError::TypedDataJson));
    }
    let long = read(&with_field("string", "x".repeat(TYPED_DATA_BYTES_MAX)));
    assert_eq!(long, Err(KeyringError::TypedDataLength));
}

#[test]
fn recursive_types_are_allowed_with_finite_values() {
    let tree = |message: serde_json::Value| {
        json!({
            "types": {"Tree": [{"name": "below", "type": "Tree[]"}]},
            "primaryType": "Tree", "domain": {"name": "Trees"}, "message": message,
        })
    };
    let grown = |depth: usize| (0..depth).fold(json!({"below": []}), |below, _| json!({"below": [below]}));
    assert!(read(&tree(grown(50))).is_ok());
    assert_eq!(read(&tree(grown(100))), Err(KeyringError::TypedDataJson));
    let mut many = tree(grown(1));
    for number in 1..TYPED_DATA_TYPES_MAX {
        many["types"][format!("T{number}")] = json!([]);
    }
    assert!(read(&many).is_ok());
    many["types"]["More"] = json!([]);
    assert_eq!(read(&many), Err(KeyringError::TypedDataTypes));
}

#[test]
fn typed_data_signature_is_invalid_for_messages_and_transactions() {
    let key = Key::from_bytes(&bytes(&"46".repeat(32))).unwrap();
    let document = read(&mail()).unwrap();
    let signed = super::super::sign_message(&key, mail().to_string().as_bytes()).unwrap();
    assert_ne!(document.signer(&signed), Ok(Address::of(&key.public_key())));
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        "(0x)?-?[0-9a-fA-F]{0,66}".prop_map(serde_json::Value::from),
        ".{0,8}".prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::btree_map("(value|name|to|.{0,3})", inner, 0..4)
                .prop_map(|fields| fields.into_iter().collect::<serde_json::Value>()),
        ]
    })
}

proptest! {
    #[test]
    fn changed_character_does_not_panic_the_parser(at: prop::sample::Index, with: char) {
        let text: Vec<char> = mail().to_string().chars().collect();
        let at = at.index(text.len());
        let (before, after) = (text[..at].iter(), text[at + 1..].iter());
        let _ = TypedData::read(&before.clone().chain([&with]).chain(after).collect::<String>());
        prop_assert_eq!(TypedData::read(&before.collect::<String>()), Err(KeyringError::TypedDataJson), "cut off");
    }

    #[test]
    fn arbitrary_value_at_any_position_does_not_panic(value in any_json(), kind in "(u?int|bytes)[0-9]{1,3}(\\[[0-9]?\\]){0,2}|.{0,8}", at in 0_usize..9) {
        let parts = ["/types", "/types/Person", "/types/Person/0", "/primaryType", "/domain", "/domain/name", "/message",
            "/message/to", "/message/to/wallet"];
        let _ = read(&changed(parts[at], value.clone()));
        let _ = read(&with_field(&kind, value));
    }

    #[test]
    fn whole_number_is_accepted_by_types_that_can_hold_it(number: i128, bits in 1_u32..=32) {
        let bits = bits * 8;
        let needed = if number < 0 { 129 - (!number).leading_zeros() } else { 129 - number.leading_zeros() };
        let held = |kind: &str| read(&with_field(&format!("{kind}{bits}"), number.to_string())).is_ok();
        prop_assert_eq!(held("int"), needed <= bits);
        prop_assert_eq!(held("uint"), number >= 0 && needed - 1 <= bits);
    }
}
