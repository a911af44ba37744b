//! Token requests: the client credentials grant (RFC 6749, 4.4).
//!
//! Tokens are never stored or printed here. If a token request fails, the call itself was not sent.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::{Certainty, DestinationCallError, attempt::basic, tokens::Granted};
use crate::{
    limits::{
        DESTINATION_VALUE_BYTES_MAX, TOKEN_LIFETIME_DEFAULT_MS, TOKEN_LIFETIME_MS_MAX, TOKEN_MARGIN_MS,
        TOKEN_REQUEST_MS, TOKEN_RESPONSE_BYTES_MAX,
    },
    outbound::{
        AddressRule, BodyEnd, Client, ClientAuthentication, OAuthClient, OutboundCall, OutboundResponse, Party, Scheme,
        check_url,
    },
    secrets::SecretText,
};

const OAUTH: &str = "oauth";

pub(super) async fn request_token(
    http_client: &Client,
    party: Party,
    client: &OAuthClient,
    rule: &AddressRule,
    scheme: Scheme,
) -> Result<Granted, DestinationCallError> {
    let target = check_url(&client.token_url, rule, scheme).map_err(|error| {
        DestinationCallError::not_sent("address-not-allowed", format!("the token endpoint: {error}"))
    })?;
    let (headers, body) = request(client)?;
    let origin = target.origin().clone();
    let (within, response_bytes_max) = (Duration::from_millis(TOKEN_REQUEST_MS), TOKEN_RESPONSE_BYTES_MAX);
    let call = OutboundCall { party, target, method: Method::POST, headers, body, within, response_bytes_max };
    let response = http_client.send(&call, rule).await.map_err(|error| DestinationCallError {
        certainty: Certainty::NotSent,
        class: error.class.name(),
        message: format!("the token endpoint: {}", error.message),
    })?;
    read(&response)
        .map_err(|message| DestinationCallError::not_sent(OAUTH, format!("the token endpoint {origin} {message}")))
}

fn request(client: &OAuthClient) -> Result<(HeaderMap, Bytes), DestinationCallError> {
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
            // The client id and the secret are form-encoded before they are joined (RFC 6749, 2.3.1).
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
    /// Required by the standard, but some servers omit it.
    token_type: Option<String>,
    expires_in: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct ErrorResponse {
    error: String,
}

/// Parses the response. The error is the rest of a sentence and never contains a token.
fn read(response: &OutboundResponse) -> Result<Granted, String> {
    let status = response.status.as_u16();
    if response.end != BodyEnd::Whole {
        return Err(format!(
            "answered {status}, with an incomplete body or more than {TOKEN_RESPONSE_BYTES_MAX} bytes"
        ));
    }
    if response.status != StatusCode::OK {
        let code = serde_json::from_slice::<ErrorResponse>(&response.body).ok().map(|response| response.error);
        let code =
            code.filter(|code| code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
        return Err(code.map_or_else(|| format!("answered {status}"), |code| format!("answered {status} ({code})")));
    }
    // The parser's message is not used: it would quote the response.
    let success: Success = serde_json::from_slice(&response.body)
        .map_err(|_| format!("answered {status} without a JSON object that has an access_token"))?;
    let text = SecretText::new(success.access_token);
    if success.token_type.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err("returned a token that is not a bearer token".to_owned());
    }
    let length = text.expose().len();
    if !(1..=DESTINATION_VALUE_BYTES_MAX).contains(&length)
        || !text.expose().bytes().all(|byte| byte.is_ascii_graphic())
    {
        return Err("returned a token that is not a valid header value".to_owned());
    }
    Ok(Granted { text, use_for: use_for(success.expires_in.as_ref()) })
}

/// Returns how long to use a token: until shortly before it expires. Some servers return the seconds as a string.
fn use_for(expires_in: Option<&serde_json::Value>) -> Duration {
    let seconds = match expires_in {
        Some(serde_json::Value::Number(number)) => number.as_f64().map(|seconds| seconds.max(0.0) as u64),
        Some(serde_json::Value::String(text)) => text.parse().ok(),
        _ => None,
    };
    let lifetime =
        seconds.map_or(TOKEN_LIFETIME_DEFAULT_MS, |seconds| seconds.saturating_mul(1_000)).min(TOKEN_LIFETIME_MS_MAX);
    Duration::from_millis(lifetime - TOKEN_MARGIN_MS.min(lifetime / 10))
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

    fn response(status: u16, body: &str) -> OutboundResponse {
        let (status, body) = (StatusCode::from_u16(status).unwrap(), Bytes::copy_from_slice(body.as_bytes()));
        OutboundResponse { status, headers: HeaderMap::new(), body, end: BodyEnd::Whole, duration_ms: 1 }
    }

    #[test]
    fn client_authenticates_in_the_header_or_in_the_form() {
        let (headers, body) = request(&client(ClientAuthentication::Basic)).unwrap();
        // base64 of "me+and+you:s%3Ae%25c+%C3%BC"
        assert_eq!(headers[header::AUTHORIZATION], "Basic bWUrYW5kK3lvdTpzJTNBZSUyNWMrJUMzJUJD");
        assert!(!format!("{headers:?}").contains("bWUr"), "Debug must not print it");
        let expected = "grant_type=client_credentials&scope=read+write&audience=https%3A%2F%2Fapi.example%2F";
        assert_eq!(body, expected);
        let (headers, body) = request(&client(ClientAuthentication::Post)).unwrap();
        assert!(!headers.contains_key(header::AUTHORIZATION));
        assert_eq!(body, format!("{expected}&client_id=me+and+you&client_secret=s%3Ae%25c+%C3%BC"));
    }

    #[test]
    fn token_is_used_until_shortly_before_it_expires() {
        for (expires_in, expected_ms) in [
            ("3600", 3_570_000),
            ("\"3600\"", 3_570_000),
            ("60.9", 54_000),
            ("0", 0),
            ("-5", 0),
            ("1e300", TOKEN_LIFETIME_MS_MAX - TOKEN_MARGIN_MS),
            ("null", 54_000),
            ("[]", 54_000),
        ] {
            let body = format!(r#"{{"access_token":"abc","token_type":"bearer","expires_in":{expires_in}}}"#);
            let granted = read(&response(200, &body)).unwrap();
            assert_eq!(granted.use_for, Duration::from_millis(expected_ms), "{expires_in}");
        }
        assert_eq!(read(&response(200, r#"{"access_token":"abc"}"#)).unwrap().text.expose(), "abc");
    }

    #[test]
    fn invalid_token_response_is_described_without_its_content() {
        for (status, body, expected) in [
            (401, r#"{"error":"invalid_client","error_description":"hunter2"}"#, "answered 401 (invalid_client)"),
            (400, r#"{"error":"hunter2 was wrong"}"#, "answered 400"),
            (503, "hunter2", "answered 503"),
            (302, "", "answered 302"),
            (200, "hunter2", "without a JSON object"),
            (200, r#"{"access_token":7,"x":"hunter2"}"#, "without a JSON object"),
            (200, r#"{"access_token":"hunter2","token_type":"mac"}"#, "not a bearer token"),
            (200, r#"{"access_token":"hunter2\n"}"#, "not a valid header value"),
            (200, r#"{"access_token":""}"#, "not a valid header value"),
        ] {
            let message = read(&response(status, body)).err().unwrap();
            assert!(message.contains(expected) && !message.contains("hunter2"), "{message}");
        }
    }
}
