//! Tests of the extractors of a request, with a router that has one route for each of them.

use axum::{
    Extension, Json, Router,
    body::Body,
    extract::DefaultBodyLimit,
    routing::{get, post, put},
};
use http::{Request, Uri};
use serde::Deserialize;
use serde_json::{Value, json};

use super::send;
use crate::{
    admin::{
        AdminError,
        inputs::{
            Action, Component, Name, OPERATOR_HEADER, Operator, check_limit, read_json, read_options, read_secret_json,
        },
        wire::{SeedCopy, SeedOwner},
    },
    limits,
};

const HINT: &str = "The hint of the route.";
const JSON: (&str, &str) = ("content-type", "application/json");

type JsonResult = Result<Json<Value>, AdminError>;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Options {
    #[serde(default)]
    allow_breaking: bool,
    limit: Option<u32>,
}

async fn options(uri: Uri) -> JsonResult {
    let Options { allow_breaking, limit } = read_options(&uri, HINT)?;
    Ok(Json(json!([allow_breaking, check_limit(limit, HINT)?])))
}

async fn body(request: Request<Body>) -> JsonResult {
    let owner: SeedOwner = read_json(request, HINT).await?;
    Ok(Json(json!(owner.tenant)))
}

async fn secret_body(request: Request<Body>) -> JsonResult {
    let copy: SeedCopy = read_secret_json(request, HINT).await?;
    Ok(Json(json!(copy.tenant)))
}

async fn name(Name(name): Name) -> JsonResult {
    Ok(Json(json!(name)))
}

async fn component(Component(bytes): Component) -> JsonResult {
    Ok(Json(json!(bytes.len())))
}

async fn action(operator: Operator) -> JsonResult {
    let line = operator.done(7, "notes", "event_1".to_owned());
    Ok(Json(json!([line.operator, line.plugin, line.action, line.target])))
}

fn router() -> Router {
    Router::new()
        .route("/options", get(options))
        .route("/body", post(body))
        .route("/secret-body", post(secret_body))
        .route("/names/{name}", get(name))
        .route("/component", put(component).layer(DefaultBodyLimit::max(limits::ADMIN_COMPONENT_BYTES_MAX)))
        .route("/action", post(action).layer(Extension(Action("redeliver"))))
        .route("/without-action", post(action))
        .layer(DefaultBodyLimit::max(limits::ADMIN_BODY_BYTES_MAX))
}

fn request(line: &str, headers: &[(&str, &str)], body: &str) -> Request<Body> {
    let (method, path) = line.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body.to_owned())).unwrap()
}

async fn respond(line: &str, headers: &[(&str, &str)], body: &str) -> (u16, Value) {
    send(&router(), request(line, headers, body)).await
}

#[tokio::test]
async fn query_with_an_unknown_option_or_an_invalid_value_is_rejected() {
    let (default, max) = (limits::ADMIN_PAGE_DEFAULT, limits::ADMIN_PAGE_MAX);
    assert_eq!(respond("GET /options", &[], "").await, (200, json!([false, default])));
    let valid = format!("GET /options?allow-breaking=true&limit={max}");
    assert_eq!(respond(&valid, &[], "").await, (200, json!([true, max])));
    let too_many = format!("limit={}", max + 1);
    for query in ["allow-braking=true", "allow-breaking=%ff", "allow-breaking=maybe", "limit=x", "limit=0", &too_many] {
        let (status, error) = respond(&format!("GET /options?{query}"), &[], "").await;
        assert_eq!((status, &error["error"], &error["hint"]), (400, &json!("invalid"), &json!(HINT)), "{query}");
    }
}

#[tokio::test]
async fn name_in_a_path_is_decoded_and_must_be_utf_8() {
    assert_eq!(respond("GET /names/key%2F..%2F9", &[], "").await, (200, json!("key/../9")));
    let (status, error) = respond("GET /names/%ff", &[], "").await;
    assert_eq!((status, &error["error"]), (400, &json!("invalid")));
}

#[tokio::test]
async fn body_must_be_json_with_the_expected_members_and_within_the_limit() {
    let valid = r#"{"plugin":"notes","tenant":"acme/test"}"#;
    assert_eq!(respond("POST /body", &[JSON], valid).await, (200, json!("acme/test")));
    let misspelt = r#"{"plugin":"notes","tenant":"acme/test","tennant":"acme/live"}"#;
    let long = format!("{{\"plugin\":\"{}\"}}", "x".repeat(limits::ADMIN_BODY_BYTES_MAX));
    for (media_type, text, expected, code) in [
        ("application/json", misspelt, 422, "invalid"),
        ("application/json", r#"{"plugin":"notes"}"#, 422, "invalid"),
        ("application/json", r#"{"plugin""#, 400, "invalid"),
        ("text/plain", valid, 415, "invalid"),
        ("application/json", &long, 413, "too-large"),
    ] {
        let (status, error) = respond("POST /body", &[("content-type", media_type)], text).await;
        assert_eq!((status, &error["error"]), (expected, &json!(code)), "{media_type} {text:.80}");
    }
}

#[tokio::test]
async fn parse_errors_name_the_cause_without_parser_internals() {
    for (line, text, named) in [
        ("POST /body", r#"{"plugin":1}"#, "invalid type: integer `1`, expected a string"),
        ("POST /body", r#"{"plugin""#, "EOF while parsing"),
        ("GET /options?limit=x", "", "limit: invalid digit"),
        ("GET /options?allow-breaking=maybe", "", "allow-breaking"),
    ] {
        let message = respond(line, &[JSON], text).await.1["message"].as_str().unwrap().to_owned();
        assert!(message.contains(named) && message.contains(" cannot be read: "), "{line}: {message}");
        assert!(!message.contains("eserialize") && !message.contains("target type"), "{line}: {message}");
    }
}

#[tokio::test]
async fn error_about_a_secret_body_repeats_no_part_of_it() {
    let valid = r#"{"plugin":"notes","tenant":"acme/test","phrase":"abandon ability able"}"#;
    assert_eq!(respond("POST /secret-body", &[JSON], valid).await, (200, json!("acme/test")));
    for text in [
        r#""abandon ability able""#,
        r#"{"plugin":"notes","tenant":"acme/test","abandon ability able":"phrase"}"#,
        r#"{"plugin":"notes","tenant":"acme/test","phrase":["abandon"]}"#,
        r#"{"plugin":"notes","tenant":"acme/test","phrase":"abandon ability"#,
        r#"{"plugin":"notes","phrase":"abandon","phrase":"abandon"}"#,
    ] {
        let (status, error) = respond("POST /secret-body", &[JSON], text).await;
        assert!((400..500).contains(&status) && !error.to_string().contains("abandon"), "{text}: {status} {error}");
    }
}

#[tokio::test]
async fn component_may_be_larger_than_other_bodies_up_to_its_own_limit() {
    let bytes = "x".repeat(2 * limits::ADMIN_BODY_BYTES_MAX);
    let length = bytes.len().to_string();
    let accepted = respond("PUT /component", &[("content-length", &length)], &bytes).await;
    assert_eq!(accepted, (200, json!(bytes.len())));
    let too_long = (limits::ADMIN_COMPONENT_BYTES_MAX + 1).to_string();
    let (status, error) = respond("PUT /component", &[("content-length", &too_long)], "").await;
    assert_eq!((status, &error["error"]), (413, &json!("too-large")));
}

#[tokio::test]
async fn journal_line_has_the_action_of_the_route_and_the_safe_characters_of_the_operator_name() {
    let long = "a".repeat(limits::OPERATOR_NAME_CHARS_MAX + 1);
    for (header, operator) in
        [("ada", "ada"), ("ada\t<script>", "adascript"), ("<>", "operator"), (&long, &long[1..]), ("", "operator")]
    {
        let (status, line) = respond("POST /action", &[(OPERATOR_HEADER, header)], "").await;
        assert_eq!((status, line), (200, json!([operator, "notes", "redeliver", "event_1"])));
    }
    let (status, error) = respond("POST /without-action", &[], "").await;
    assert_eq!((status, &error["error"]), (500, &json!("failed")));
}
