//! Bodies as browsers and phones write them, and bodies that nobody should write.

use proptest::prelude::*;

use super::*;

const TYPE: &str = "multipart/form-data; boundary=x";

fn part(name: &str, bytes: &'static [u8]) -> Part<'static> {
    Part { name: name.to_owned(), file_name: None, bytes }
}

#[test]
fn parts_are_named_bytes() {
    let body = b"--x\r\nContent-Disposition: form-data; name=\"photos[]\"; filename=\"a;\\\"b.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n\xff\xd8\xff\r\n--\r\n\r\n--x\r\ncontent-disposition:form-data;name=remarks\r\n\r\n\r\n--x--\r\n";
    let photo = Part { file_name: Some("a;\"b.jpg".to_owned()), ..part("photos[]", b"\xff\xd8\xff\r\n--\r\n") };
    let expected = [photo, part("remarks", b"")];
    assert_eq!(parse(TYPE, body).unwrap(), expected);
}

#[test]
fn a_body_without_parts_has_none() {
    assert_eq!(parse(TYPE, b"--x--\r\n"), Some(Vec::new()));
    assert_eq!(parse(TYPE, b"\r\n--x--"), Some(Vec::new()));
}

#[test]
fn boundaries_are_read_as_words_and_as_quoted_texts() {
    for (written, boundary) in [
        ("multipart/form-data; boundary=----WebKitFormBoundaryAbC0", "----WebKitFormBoundaryAbC0"),
        ("Multipart/Form-Data;charset=utf-8; BOUNDARY=\"a b\"", "a b"),
    ] {
        let body = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--{boundary}--");
        assert_eq!(parse(written, body.as_bytes()).unwrap(), [part("a", b"1")], "{written}");
    }
    let long = format!("multipart/form-data; boundary={}", "x".repeat(71));
    let types = ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"x", &long];
    for written in types.into_iter().chain(["multipart/mixed; boundary=x", "multipart/form-data; boundary=\"x \"", ""])
    {
        assert_eq!(parse(written, b"--x--"), None, "{written}");
    }
}

#[test]
fn what_is_not_exactly_a_list_of_parts_is_none() {
    let bodies = [
        "",
        "--x",
        "--x\r\n",
        "--y--",
        "preamble\r\n--x--",
        "--x--epilogue",
        "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1",
        "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x",
        "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--xy--",
        "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n1\r\n--x--",
        "--x\r\nContent-Disposition: form-data; filename=\"a\"\r\n\r\n1\r\n--x--",
        "--x\r\nContent-Disposition: attachment; name=\"a\"\r\n\r\n1\r\n--x--",
        "--x\r\nContent-Type: text/plain\r\n\r\n1\r\n--x--",
        "--x\r\nContent-Disposition: form-data; name=\"a\r\n\r\n1\r\n--x--",
        "--x\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Transfer-Encoding: base64\r\n\r\n1\r\n--x--",
        "--x\nContent-Disposition: form-data; name=\"a\"\n\n1\n--x--",
    ];
    for body in bodies {
        assert_eq!(parse(TYPE, body.as_bytes()), None, "{body:?}");
    }
}

#[test]
fn parts_and_heads_have_bounds() {
    let of = |parts: usize| {
        let part = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n";
        [&part.repeat(parts), "--x--"].concat()
    };
    assert_eq!(parse(TYPE, of(PARTS_MAX).as_bytes()).unwrap().len(), PARTS_MAX);
    assert_eq!(parse(TYPE, of(PARTS_MAX + 1).as_bytes()), None);
    let padded = of(1).replace("name", &["x: ", &"y".repeat(HEAD_BYTES_MAX), "\r\nname"].concat());
    assert_eq!(parse(TYPE, padded.as_bytes()), None);
}

/// A body as a client writes it; no part holds the delimiter.
fn written(parts: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, bytes) in parts {
        let name = name.replace('\\', "\\\\").replace('"', "\\\"");
        body.extend(format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n").bytes());
        body.extend(bytes);
        body.extend(b"\r\n");
    }
    body.extend(b"--x--\r\n");
    body
}

proptest! {
    #[test]
    fn what_is_written_is_read(parts in prop::collection::vec(("[ -~é]{0,12}", prop::collection::vec(prop::sample::select(b"\r\n-ab\x00\xff".to_vec()), 0..24)), 0..5)) {
        let body = written(&parts);
        let read = parse(TYPE, &body).unwrap();
        let read: Vec<(String, Vec<u8>)> = read.into_iter().map(|part| (part.name, part.bytes.to_vec())).collect();
        prop_assert_eq!(read, parts);
    }

    #[test]
    fn no_bytes_break_it(cut in 0usize..200, byte: u8, at in 0usize..200, media_type in "[a-z/;=\" x-]{0,40}") {
        let mut body = written(&[("photos".to_owned(), b"\xff\xd8\xff--x\r\n".to_vec()), ("a\"b".to_owned(), Vec::new())]);
        if let Some(place) = body.get_mut(at) {
            *place = byte;
        }
        body.truncate(body.len().saturating_sub(cut));
        for part in parse(TYPE, &body).into_iter().flatten() {
            prop_assert!(part.bytes.len() <= body.len());
        }
        prop_assert!(parse(&media_type, &body).is_none_or(|parts| parts.len() <= PARTS_MAX));
    }
}
