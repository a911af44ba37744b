//! Test guest whose manifest is patched into its bytes after the build, so that one build serves as many plugins.
//!
//! Owns a few valid routes (its version, slow work, one stored record) for tests of swaps, rollbacks and data versions.
//! `tenon_bench::guests` writes the manifest into the region below. A string that begins with "!" makes `describe`
//! fail in the named way. It uses the contract in `wit/` without the SDK.
#![cfg(target_arch = "wasm32")]

use std::hint::black_box;

use exports::tenon::plugin::handler::{Answer, Guest, Request, Task, Verdict};
use tenon::plugin::{
    events, records,
    types::{Content, Response},
};

wit_bindgen::generate!({ path: "../../../wit", world: "plugin", generate_all });
export!(Chameleon);

const MARKER: &[u8] = b"TENON-GUEST-MANIFEST:";
const REGION_BYTES: usize = 32 * 1024;

/// The marker, the manifest, and trailing spaces, which JSON ignores.
#[used]
static REGION: [u8; REGION_BYTES] = region(include_bytes!("../manifest.json"));

const fn region(text: &[u8]) -> [u8; REGION_BYTES] {
    let mut bytes = [b' '; REGION_BYTES];
    let mut at = 0;
    while at < MARKER.len() {
        bytes[at] = MARKER[at];
        at += 1;
    }
    let mut from = 0;
    while from < text.len() {
        bytes[at + from] = text[from];
        from += 1;
    }
    bytes
}

/// Returns the manifest. `black_box` prevents the compiler from using the content that the region has during the build.
fn manifest() -> String {
    let bytes = black_box(&REGION);
    String::from_utf8_lossy(&bytes[MARKER.len()..]).trim_end().to_owned()
}

struct Chameleon;

impl Guest for Chameleon {
    fn describe() -> String {
        let manifest = manifest();
        match manifest.as_str() {
            "!panic" => panic!("the table of rates is empty"),
            "!trap" => core::arch::wasm32::unreachable(),
            "!loop" => loop {
                black_box(());
            },
            "!allocate" => loop {
                black_box(vec![1u8; 1 << 20].leak());
            },
            "!recurse" => recurse(0).to_string(),
            "!huge" => " ".repeat(40 << 20),
            "!import" => format!("{:?}", records::get("things", "1")),
            _ => manifest,
        }
    }

    fn handle(request: Request) -> Result<Answer, String> {
        let id = request.parameters.first().map(|pair| pair.value.as_str()).unwrap_or("");
        match request.operation.as_str() {
            "version" => Ok(refuse(200, version_json())),
            "slow" => {
                spin(requested_steps(&request));
                Ok(refuse(200, version_json()))
            }
            "read-thing" => Ok(read_thing(id)),
            "count-thing" => {
                spin(requested_steps(&request));
                Ok(count_thing(id))
            }
            "put-thing" => {
                spin(requested_steps(&request));
                Ok(put_thing(id, &request.content))
            }
            other => Err(format!("chameleon has no operation {other}")),
        }
    }

    fn run(task: Task) -> Result<Verdict, String> {
        Err(format!("chameleon has no task {}", task.name))
    }
}

#[allow(unconditional_recursion)]
fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 32]);
    recurse(frame[0] + 1) + frame[31]
}

/// Runs a loop of this number of steps: about one millisecond for a million.
fn spin(steps: u64) {
    for step in 0..steps {
        black_box(step);
    }
}

fn requested_steps(request: &Request) -> u64 {
    let steps = request.query.iter().find(|pair| pair.name == "steps");
    steps.and_then(|pair| pair.value.parse().ok()).unwrap_or(0)
}

/// Returns `{"version":"1.0.0"}` with the version of the manifest.
fn version_json() -> String {
    let manifest = manifest();
    let version = manifest.split_once("\"version\":").and_then(|(_, rest)| rest.split('"').nth(1));
    format!(r#"{{"version":"{}"}}"#, version.unwrap_or("none"))
}

fn read_thing(id: &str) -> Answer {
    match records::get("things", id) {
        Some(entry) => refuse(200, entry.body),
        None => refuse(404, r#"{"error":"no such thing"}"#.to_owned()),
    }
}

/// Adds one to `{"count":N}` and emits an event.
fn count_thing(id: &str) -> Answer {
    let before = records::get("things", id);
    let count = before.as_ref().map_or(0, |entry| count_of(&entry.body)) + 1;
    let body = format!(r#"{{"count":{count}}}"#);
    let written = match before {
        Some(_) => records::replace("things", id, &body),
        None => records::insert("things", id, &body),
    };
    if let Err(refusal) = written {
        return refuse(409, format!(r#"{{"error":{:?}}}"#, format!("{refusal:?}")));
    }
    events::emit("thing.counted", id, &body);
    Answer::Commit(response(200, body))
}

/// Stores the body, and replaces an existing record.
fn put_thing(id: &str, content: &Content) -> Answer {
    let Content::Json(body) = content else { return refuse(400, r#"{"error":"no JSON"}"#.to_owned()) };
    let written = match records::get("things", id) {
        Some(_) => records::replace("things", id, body),
        None => records::insert("things", id, body),
    };
    match written {
        Ok(()) => Answer::Commit(response(200, body.clone())),
        Err(refusal) => refuse(409, format!(r#"{{"error":{:?}}}"#, format!("{refusal:?}"))),
    }
}

fn count_of(body: &str) -> u64 {
    let digits: String = body.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

fn refuse(status: u16, body: String) -> Answer {
    Answer::Refuse(response(status, body))
}

fn response(status: u16, body: String) -> Response {
    Response { status, headers: Vec::new(), content: Content::Json(body) }
}
