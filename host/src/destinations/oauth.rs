//! Asking for a token: the client credentials grant (RFC 6749, 4.4), and what the token endpoint said.
//!
//! Never keeps or shows a token. Whatever goes wrong here, the call itself was not sent.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::{CallFailure, Certainty, attempt::basic, tokens::Granted};
use crate::{
    limits::{
        DESTINATION_VALUE_BYTES_MAX, TOKEN_ANSWER_BYTES_MAX, TOKEN_LIFE_DEFAULT_MS, TOKEN_LIFE_MS_MAX, TOKEN_MARGIN_MS,
        TOKEN_REQUEST_MS,
    },
    outbound::{
        AddressRule, Answer, BodyEnd, Call, Client, ClientAuthentication, OAuthClient, Party, Scheme, check_url,
    },
    secrets::SecretText,
};

const OAUTH: &str = "oauth";

pub(super) async fn ask(
    sender: &Client,
    party: Party,
    client: &OAuthClient,
    rule: &AddressRule,
    scheme: Scheme,
) -> Result<Granted, CallFailure> {
    let target = check_url(&client.token_url, rule, scheme)
        .map_err(|refusal| CallFailure::not_sent("address-not-allowed", format!("the token endpoint: {refusal}")))?;
    let (headers, body) = request(client)?;
    let place = target.place().clone();
    let (within, answer_bytes_max) = (Duration::from_millis(TOKEN_REQUEST_MS), TOKEN_ANSWER_BYTES_MAX);
    let call = Call { party, target, method: Method::POST, headers, body, within, answer_bytes_max };
    let answer = sender.send(&call, rule).await.map_err(|failure| CallFailure {
        certainty: Certainty::NotSent,
        class: failure.class.name(),
        words: format!("the token endpoint: {}", failure.words),
    })?;
    read(&answer).map_err(|words| CallFailure::not_sent(OAUTH, format!("the token endpoint {place} {words}")))
}

fn request(client: &OAuthClient) -> Result<(HeaderMap, Bytes), CallFailure> {
    let mut form = Serializer::new(String::new());
    form.append_pair("grant_type", "client_credentials");
    for (name, value) in [("scope", &client.scope), ("audience", &client.audience)] {
        if let Some(value) = value {
            form.append_pair(name, value);
        }
    }
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    match client.authentication {
        ClientAuthentication::Basic => {
            // Both are encoded as in a form before they are put together (RFC 6749, 2.3.1).
            let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            let pair = format!("{}:{}", encoded(&client.client_id), encoded(client.client_secret.expose()));
            headers.insert(header::AUTHORIZATION, basic(&SecretText::new(pair))?);
        }
        ClientAuthentication::Post => {
            form.append_pair("client_id", &client.client_id);
            form.append_pair("client_secret", client.client_secret.expose());
        }
    }
    Ok((headers, Bytes::from(form.finish())))
}

#[derive(Deserialize)]
struct Success {
    access_token: String,
    /// Required by the standard, and missing in the wild.
    token_type: Option<String>,
    expires_in: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Refused {
    error: String,
}

/// `Err`: the rest of a sentence, with nothing of a token in it.
fn read(answer: &Answer) -> Result<Granted, String> {
    let status = answer.status.as_u16();
    if answer.end != BodyEnd::Whole {
        return Err(format!("answered {status}, and not to the end within {TOKEN_ANSWER_BYTES_MAX} bytes"));
    }
    if answer.status != StatusCode::OK {
        let code = serde_json::from_slice::<Refused>(&answer.body).ok().map(|refused| refused.error);
        let code =
            code.filter(|code| code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
        return Err(code.map_or_else(|| format!("answered {status}"), |code| format!("answered {status} ({code})")));
    }
    // Words of the parser would quote the answer.
    let success: Success = serde_json::from_slice(&answer.body)
        .map_err(|_| format!("answered {status} without a JSON object that has an access_token"))?;
    let text = SecretText::new(success.access_token);
    if success.token_type.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err("gave a token that is no bearer token".to_owned());
    }
    let length = text.expose().len();
    if !(1..=DESTINATION_VALUE_BYTES_MAX).contains(&length)
        || !text.expose().bytes().all(|byte| byte.is_ascii_graphic())
    {
        return Err("gave a token that no header can carry".to_owned());
    }
    Ok(Granted { text, use_for: use_for(success.expires_in.as_ref()) })
}

/// Until shortly before the end of its life. Some servers write the seconds as a text.
fn use_for(expires_in: Option<&serde_json::Value>) -> Duration {
    let seconds = match expires_in {
        Some(serde_json::Value::Number(number)) => number.as_f64().map(|seconds| seconds.max(0.0) as u64),
        Some(serde_json::Value::String(text)) => text.parse().ok(),
        _ => None,
    };
    let life = seconds.map_or(TOKEN_LIFE_DEFAULT_MS, |seconds| seconds.saturating_mul(1_000)).min(TOKEN_LIFE_MS_MAX);
    Duration::from_millis(life - TOKEN_MARGIN_MS.min(life / 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(authentication: ClientAuthentication) -> OAuthClient {
        OAuthClient {
            token_url: "https://id.example/token".into(),
            client_id: "me and you".into(),
            client_secret: SecretText::new("s:e%c ü".into()),
            scope: Some("read write".into()),
            audience: Some("https://api.example/".into()),
            authentication,
        }
    }

    fn answer(status: u16, body: &str) -> Answer {
        let (status, body) = (StatusCode::from_u16(status).unwrap(), Bytes::copy_from_slice(body.as_bytes()));
        Answer { status, headers: HeaderMap::new(), body, end: BodyEnd::Whole, duration_ms: 1 }
    }

    #[test]
    fn a_client_proves_itself_in_the_header_or_in_the_form() {
        let (headers, body) = request(&client(ClientAuthentication::Basic)).unwrap();
        // base64 of "me+and+you:s%3Ae%25c+%C3%BC"
        assert_eq!(headers[header::AUTHORIZATION], "Basic bWUrYW5kK3lvdTpzJTNBZSUyNWMrJUMzJUJD");
        assert!(!format!("{headers:?}").contains("bWUr"), "not shown by Debug");
        let asked = "grant_type=client_credentials&scope=read+write&audience=https%3A%2F%2Fapi.example%2F";
        assert_eq!(body, asked);
        let (headers, body) = request(&client(ClientAuthentication::Post)).unwrap();
        assert!(!headers.contains_key(header::AUTHORIZATION));
        assert_eq!(body, format!("{asked}&client_id=me+and+you&client_secret=s%3Ae%25c+%C3%BC"));
    }

    #[test]
    fn a_token_is_used_until_shortly_before_its_end() {
        for (expires_in, expected_ms) in [
            ("3600", 3_570_000),
            ("\"3600\"", 3_570_000),
            ("60.9", 54_000),
            ("0", 0),
            ("-5", 0),
            ("1e300", TOKEN_LIFE_MS_MAX - TOKEN_MARGIN_MS),
            ("null", 54_000),
            ("[]", 54_000),
        ] {
            let body = format!(r#"{{"access_token":"abc","token_type":"bearer","expires_in":{expires_in}}}"#);
            let granted = read(&answer(200, &body)).unwrap();
            assert_eq!(granted.use_for, Duration::from_millis(expected_ms), "{expires_in}");
        }
        assert_eq!(read(&answer(200, r#"{"access_token":"abc"}"#)).unwrap().text.expose(), "abc");
    }

    #[test]
    fn what_is_no_token_is_named_without_what_was_said() {
        for (status, body, expected) in [
            (401, r#"{"error":"invalid_client","error_description":"hunter2"}"#, "answered 401 (invalid_client)"),
            (400, r#"{"error":"hunter2 was wrong"}"#, "answered 400"),
            (503, "hunter2", "answered 503"),
            (302, "", "answered 302"),
            (200, "hunter2", "without a JSON object"),
            (200, r#"{"access_token":7,"x":"hunter2"}"#, "without a JSON object"),
            (200, r#"{"access_token":"hunter2","token_type":"mac"}"#, "no bearer token"),
            (200, r#"{"access_token":"hunter2\n"}"#, "no header can carry"),
            (200, r#"{"access_token":""}"#, "no header can carry"),
        ] {
            let words = read(&answer(status, body)).err().unwrap();
            assert!(words.contains(expected) && !words.contains("hunter2"), "{words}");
        }
    }
}
