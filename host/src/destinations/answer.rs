//! An answer of somebody else's server as the value that a plugin reads. Pure.

use http::header;
use serde::de::IgnoredAny;

use super::CallFailure;
use crate::{
    changes::outgoing::{OutgoingAnswer, OutgoingContent},
    limits::DESTINATION_ANSWER_BYTES_MAX,
    outbound::{Answer, BodyEnd},
};

/// They speak of the connection, or sign somebody in.
const KEPT_BACK: [header::HeaderName; 7] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::PROXY_AUTHENTICATE,
    header::SET_COOKIE,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The class of an answer whose body broke off. No other failure has it: a plugin may have to treat it as an answer.
const INCOMPLETE: &str = "incomplete";

/// Half an answer is none: what was asked may have been done all the same.
pub(super) fn read(answer: Answer) -> Result<OutgoingAnswer, CallFailure> {
    match answer.end {
        BodyEnd::Whole => {}
        BodyEnd::Cut => {
            let words = format!(
                "answered {} with a body of more than {DESTINATION_ANSWER_BYTES_MAX} bytes",
                answer.status.as_u16()
            );
            return Err(CallFailure::unknown("too-large", words));
        }
        BodyEnd::Broken(class) => {
            let words = format!("answered {}, and its body broke off ({})", answer.status.as_u16(), class.name());
            return Err(CallFailure::unknown(INCOMPLETE, words));
        }
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = answer.headers.iter().filter(|(name, _)| !KEPT_BACK.contains(name));
    let media_type = answer.headers.get(header::CONTENT_TYPE).map(|value| text(value.as_bytes()));
    Ok(OutgoingAnswer {
        status: answer.status.as_u16(),
        headers: headers.map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect(),
        content: content(media_type, answer.body.to_vec()),
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
    fn json_is_what_says_so_and_is() {
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
