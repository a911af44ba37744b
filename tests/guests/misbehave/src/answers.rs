//! Invalid and extreme answers, faults, and answers after a write.

use crate::{
    Outcome, Route, commit,
    exports::tenon::plugin::handler::{Answer, Feed},
    refuse, response,
    rules::nested,
    tenon::plugin::{
        records,
        types::{Blob, Content, Pair, Response},
    },
};

pub const ROUTES: &[Route] = &[
    ("answer-100-mb", |_| refuse(200, format!("\"{}\"", "x".repeat(100 << 20)))),
    ("answer-20-mb", |_| refuse(200, format!("\"{}\"", "x".repeat(20 << 20)))),
    ("answer-not-json", |_| refuse(200, "{not json")),
    ("answer-deep", |_| refuse(200, nested(100_000))),
    ("answer-wait", |_| Ok(Answer::Wait)),
    ("answer-stream", |_| Ok(Answer::Stream(Feed { event_types: Vec::new(), subjects: Vec::new() }))),
    ("answer-error", |_| Err("a secret of the plugin: 4711".to_owned())),
    ("status-0", |_| refuse(0, "{}")),
    ("status-99", |_| refuse(99, "{}")),
    ("status-101", |_| refuse(101, "{}")),
    ("status-65535", |_| refuse(65_535, "{}")),
    ("status-204-with-body", |_| refuse(204, "{}")),
    ("header-split", |_| header("x-thing", "a\r\nset-cookie: b=c")),
    ("header-name", |_| header("not a name", "a")),
    ("header-length", |_| header("content-length", "3")),
    ("header-chunked", |_| header("transfer-encoding", "chunked")),
    ("header-request-id", |_| header("x-request-id", "forged")),
    ("header-origin", |_| {
        headers(vec![pair("set-cookie", "a=b; Domain=example.com"), pair("strict-transport-security", "max-age=1")])
    }),
    ("header-cross-origin", |_| header("access-control-allow-origin", "*")),
    ("header-large", |_| header("x-large", &"x".repeat(200_000))),
    ("header-many", |_| headers((0..100_000).map(|number| pair(&format!("x-{number}"), "a")).collect())),
    ("media-type-split", |_| {
        let blob = Blob { media_type: "text/plain\r\nx-forged: 1".to_owned(), bytes: b"text".to_vec() };
        Ok(Answer::Refuse(Response { status: 200, headers: Vec::new(), content: Content::Other(blob) }))
    }),
    ("refuse-after-write", |_| {
        let _ = records::insert("things", "refused", r#"{"colour":"red"}"#);
        refuse(409, r#"{"error":"no"}"#)
    }),
    ("error-after-write", |_| {
        let _ = records::insert("things", "failed", r#"{"colour":"red"}"#);
        Err("after a write".to_owned())
    }),
    ("commit-500", |_| {
        let _ = records::insert("things", "committed", r#"{"colour":"red"}"#);
        Ok(Answer::Commit(response(500, r#"{"error":"and yet it is kept"}"#)))
    }),
    ("empty", |_| commit("")),
];

fn pair(name: &str, value: &str) -> Pair {
    Pair { name: name.to_owned(), value: value.to_owned() }
}

fn header(name: &str, value: &str) -> Outcome {
    headers(vec![pair(name, value)])
}

fn headers(headers: Vec<Pair>) -> Outcome {
    Ok(Answer::Refuse(Response { status: 200, headers, content: Content::Json("{}".to_owned()) }))
}
