//! Converts the HTTP response of a destination into the value that a plugin reads. Pure.

use http::header;
use serde::de::IgnoredAny;

use super::DestinationCallError;
use crate::{
    changes::outgoing::{OutgoingContent, OutgoingResponse},
    limits::DESTINATION_RESPONSE_BYTES_MAX,
    outbound::{BodyEnd, OutboundResponse},
};

/// Headers that are not passed to plugins: they concern the connection or authentication.
const HIDDEN_HEADERS: [header::HeaderName; 7] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::PROXY_AUTHENTICATE,
    header::SET_COOKIE,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Class of a response whose body broke off. No other error has this class, because a plugin may have to treat the
/// error as a response.
const INCOMPLETE: &str = "incomplete";

/// Converts a response.
///
/// # Errors
///
/// Fails if the body is incomplete or too large. The request may have been executed all the same.
pub(super) fn read(response: OutboundResponse) -> Result<OutgoingResponse, DestinationCallError> {
    match response.end {
        BodyEnd::Whole => {}
        BodyEnd::Cut => {
            let message = format!(
                "answered {} with a body of more than {DESTINATION_RESPONSE_BYTES_MAX} bytes",
                response.status.as_u16()
            );
            return Err(DestinationCallError::unknown("too-large", message));
        }
        BodyEnd::Broken(class) => {
            let message = format!("answered {}, and its body broke off ({})", response.status.as_u16(), class.name());
            return Err(DestinationCallError::unknown(INCOMPLETE, message));
        }
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = response.headers.iter().filter(|(name, _)| !HIDDEN_HEADERS.contains(name));
    let media_type = response.headers.get(header::CONTENT_TYPE).map(|value| text(value.as_bytes()));
    Ok(OutgoingResponse {
        status: response.status.as_u16(),
        headers: headers.map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect(),
        content: content(media_type, response.body.to_vec()),
    })
}

fn content(media_type: Option<String>, bytes: Vec<u8>) -> OutgoingContent {
    if bytes.is_empty() {
        return OutgoingContent::Empty;
    }
    let media_type = media_type.unwrap_or_else(|| "application/octet-stream".to_owned());
    if !is_json(&media_type) || serde_json::from_slice::<IgnoredAny>(&bytes).is_err() {
        return OutgoingContent::Other { media_type, bytes };
    }
    match String::from_utf8(bytes) {
        Ok(text) => OutgoingContent::Json(text),
        Err(error) => OutgoingContent::Other { media_type, bytes: error.into_bytes() },
    }
}

fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_is_json_only_with_a_json_media_type_and_valid_content() {
        let json = |text: &str| OutgoingContent::Json(text.to_owned());
        for (media_type, body, expected) in [
            (Some("application/json; charset=utf-8"), &b"{\"a\":1}"[..], Some(json("{\"a\":1}"))),
            (Some("application/problem+JSON"), b"[]", Some(json("[]"))),
            (Some("application/json"), b"", Some(OutgoingContent::Empty)),
            (Some("application/json"), b"{\"a\":", None),
            (Some("application/json"), b"\"\xff\"", None),
            (Some("text/plain"), b"{}", None),
            (None, b"{}", None),
        ] {
            let expected = expected.unwrap_or_else(|| OutgoingContent::Other {
                media_type: media_type.unwrap_or("application/octet-stream").to_owned(),
                bytes: body.to_vec(),
            });
            assert_eq!(content(media_type.map(str::to_owned), body.to_vec()), expected);
        }
    }
}
