//! Checks that a manifest is small enough to be stored and sent: values of its JSON, routes, paths, error templates.
//!
//! Pure. Callers without a key receive error bodies, and no tenant is charged for them.

use crate::{
    limits::{
        ERROR_BODY_BYTES_MAX, ERROR_HEADER_BYTES_MAX, ERROR_HEADERS_MAX, ERROR_REQUEST_IDS_MAX, MANIFEST_VALUES_MAX,
        PATH_BYTES_MAX, PATH_PARAMETERS_MAX, PATH_SEGMENTS_MAX, ROUTES_MAX,
    },
    manifest::{ErrorTemplate, Manifest},
    plugin::error_bodies::REQUEST_ID,
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

/// Returns an upper bound of the values in a JSON document: each but the first follows a comma or the start of a list
/// or an object.
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

pub fn check(manifest: &Manifest, problems: &mut Vec<String>) {
    if manifest.routes.len() > ROUTES_MAX {
        problems.push(format!("has {} routes, {ROUTES_MAX} are the limit", manifest.routes.len()));
    }
    for (failure, template) in &manifest.failures {
        let exceeded = find_large_parts(template);
        problems.extend(exceeded.into_iter().map(|reason| format!("failure \"{failure}\": {reason}")));
    }
}

fn find_large_parts(template: &ErrorTemplate) -> Vec<String> {
    let mut problems = Vec::new();
    let mut bound = |what: &str, number: usize, max: usize| {
        if number > max {
            problems.push(format!("has {number} {what}, {max} are the limit"));
        }
    };
    let body = template.body.to_string();
    bound("bytes of body", body.len(), ERROR_BODY_BYTES_MAX);
    bound("request ids", body.matches(REQUEST_ID).count(), ERROR_REQUEST_IDS_MAX);
    bound("headers", template.headers.len(), ERROR_HEADERS_MAX);
    let bytes = template.headers.iter().map(|(name, value)| name.len().saturating_add(value.len())).sum();
    bound("bytes of headers", bytes, ERROR_HEADER_BYTES_MAX);
    problems
}

/// Returns a sentence about the limit that a path exceeds, without the path itself, which may be long. Returns `None`
/// if the path exceeds no limit.
pub fn find_large_path(path: &str) -> Option<String> {
    let parameters = path.matches('{').count();
    let measured = [
        ("bytes", path.len(), PATH_BYTES_MAX),
        ("segments", path.matches('/').count(), PATH_SEGMENTS_MAX),
        ("parameters", parameters, PATH_PARAMETERS_MAX),
    ];
    let (what, number, max) = measured.into_iter().find(|(_, number, max)| number > max)?;
    Some(format!("its path has {number} {what}, {max} are the limit"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn template(headers: Value, body: Value) -> ErrorTemplate {
        serde_json::from_value(json!({"status": 401, "headers": headers, "body": body})).unwrap()
    }

    #[test]
    fn values_are_counted_outside_of_strings() {
        for (text, values) in [("1", 1), (r#"{"a":1}"#, 2), (r#"[1,2,3]"#, 4), (r#"{"a,[{":"\",,"}"#, 2)] {
            assert_eq!(count_values(text), values, "{text}");
        }
    }

    #[test]
    fn manifest_of_too_many_values_is_rejected_before_it_is_parsed() {
        let text = format!("[{}0]", "0,".repeat(MANIFEST_VALUES_MAX));
        assert!(check_text(&text).unwrap_err().contains("100000 are the limit"));
        assert_eq!(check_text(&format!("[{}0]", "0,".repeat(MANIFEST_VALUES_MAX - 2))), Ok(()));
    }

    #[test]
    fn each_large_part_of_an_error_template_is_reported() {
        let many: serde_json::Map<String, Value> = (0..33).map(|n| (format!("x-{n}"), json!("1"))).collect();
        let cases = [
            (json!({}), json!("x".repeat(ERROR_BODY_BYTES_MAX)), "bytes of body"),
            (json!({}), json!(REQUEST_ID.repeat(9)), "9 request ids, 8 are the limit"),
            (Value::Object(many), json!({}), "33 headers"),
            (json!({"x-a": "x".repeat(ERROR_HEADER_BYTES_MAX)}), json!({}), "bytes of headers"),
        ];
        for (headers, body, part) in cases {
            let problems = find_large_parts(&template(headers, body));
            assert!(problems.len() == 1 && problems[0].contains(part), "{problems:?}");
        }
        assert!(find_large_parts(&template(json!({"x-a": "b"}), json!({"id": REQUEST_ID}))).is_empty());
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
