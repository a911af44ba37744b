//! Whether a manifest is small enough to be kept and sent: values of its JSON, routes, paths, the wording of failures.
//!
//! Pure. Callers without a key receive the wording of failures, and nobody is charged for it.

use crate::manifest::{FailureWording, Manifest};
use crate::{
    limits::{
        MANIFEST_VALUES_MAX, PATH_BYTES_MAX, PATH_PARAMETERS_MAX, PATH_SEGMENTS_MAX, ROUTES_MAX,
        WORDING_BODY_BYTES_MAX, WORDING_HEADER_BYTES_MAX, WORDING_HEADERS_MAX, WORDING_REQUEST_IDS_MAX,
    },
    plugin::wording::REQUEST_ID,
};

/// Checks the text before it is parsed: parsed values take much more memory than their text.
///
/// # Errors
/// A sentence that names the limit.
pub fn check_text(text: &str) -> Result<(), String> {
    let values = count_values(text);
    if values > MANIFEST_VALUES_MAX {
        return Err(format!("its manifest has {values} values, {MANIFEST_VALUES_MAX} are the limit"));
    }
    Ok(())
}

/// Upper bound of the values in a JSON text: each but the first follows a comma or opens a list or an object.
fn count_values(text: &str) -> usize {
    let (mut values, mut in_string, mut is_escaped) = (1_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => values = values.saturating_add(1),
            _ => {}
        }
    }
    values
}

pub fn check(manifest: &Manifest, found: &mut Vec<String>) {
    if manifest.routes.len() > ROUTES_MAX {
        found.push(format!("has {} routes, {ROUTES_MAX} are the limit", manifest.routes.len()));
    }
    for (failure, wording) in &manifest.failures {
        let wrong = find_large_parts(wording);
        found.extend(wrong.into_iter().map(|reason| format!("failure \"{failure}\": {reason}")));
    }
}

fn find_large_parts(wording: &FailureWording) -> Vec<String> {
    let mut found = Vec::new();
    let mut bound = |what: &str, number: usize, most: usize| {
        if number > most {
            found.push(format!("has {number} {what}, {most} are the limit"));
        }
    };
    let body = wording.body.to_string();
    bound("bytes of body", body.len(), WORDING_BODY_BYTES_MAX);
    bound("request ids", body.matches(REQUEST_ID).count(), WORDING_REQUEST_IDS_MAX);
    bound("headers", wording.headers.len(), WORDING_HEADERS_MAX);
    let bytes = wording.headers.iter().map(|(name, value)| name.len().saturating_add(value.len())).sum();
    bound("bytes of headers", bytes, WORDING_HEADER_BYTES_MAX);
    found
}

/// The reason does not quote the path, which may be long.
pub fn find_large_path(path: &str) -> Option<String> {
    let parameters = path.matches('{').count();
    let measured = [
        ("bytes", path.len(), PATH_BYTES_MAX),
        ("segments", path.matches('/').count(), PATH_SEGMENTS_MAX),
        ("parameters", parameters, PATH_PARAMETERS_MAX),
    ];
    let (what, number, most) = measured.into_iter().find(|(_, number, most)| number > most)?;
    Some(format!("its path has {number} {what}, {most} are the limit"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn wording(headers: Value, body: Value) -> FailureWording {
        serde_json::from_value(json!({"status": 401, "headers": headers, "body": body})).unwrap()
    }

    #[test]
    fn values_are_counted_outside_of_texts() {
        for (text, values) in [("1", 1), (r#"{"a":1}"#, 2), (r#"[1,2,3]"#, 4), (r#"{"a,[{":"\",,"}"#, 2)] {
            assert_eq!(count_values(text), values, "{text}");
        }
    }

    #[test]
    fn manifest_of_too_many_values_is_refused_before_it_is_parsed() {
        let text = format!("[{}0]", "0,".repeat(MANIFEST_VALUES_MAX));
        assert!(check_text(&text).unwrap_err().contains("100000 are the limit"));
        assert_eq!(check_text(&format!("[{}0]", "0,".repeat(MANIFEST_VALUES_MAX - 2))), Ok(()));
    }

    #[test]
    fn each_large_part_of_a_wording_is_named() {
        let many: serde_json::Map<String, Value> = (0..33).map(|n| (format!("x-{n}"), json!("1"))).collect();
        let cases = [
            (json!({}), json!("x".repeat(WORDING_BODY_BYTES_MAX)), "bytes of body"),
            (json!({}), json!(REQUEST_ID.repeat(9)), "9 request ids, 8 are the limit"),
            (Value::Object(many), json!({}), "33 headers"),
            (json!({"x-a": "x".repeat(WORDING_HEADER_BYTES_MAX)}), json!({}), "bytes of headers"),
        ];
        for (headers, body, part) in cases {
            let found = find_large_parts(&wording(headers, body));
            assert!(found.len() == 1 && found[0].contains(part), "{found:?}");
        }
        assert!(find_large_parts(&wording(json!({"x-a": "b"}), json!({"id": REQUEST_ID}))).is_empty());
    }

    #[test]
    fn path_is_bounded_in_bytes_segments_and_parameters() {
        let parameters: String = (0..17).map(|n| format!("/{{p{n}}}")).collect();
        let cases = [
            ("/a".repeat(33), "33 segments"),
            (format!("/{}", "a".repeat(PATH_BYTES_MAX)), "1025 bytes"),
            (parameters, "17 parameters"),
        ];
        for (path, part) in cases {
            assert!(find_large_path(&path).unwrap().contains(part), "{path}");
        }
        assert_eq!(find_large_path("/v1/orders/{id}"), None);
    }
}
