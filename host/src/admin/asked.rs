//! What was asked, read out of a request: the name in the path, the options of the query, a JSON body.
//!
//! Every mistake is told in the shape of [`Rejection`], in words that say nothing of what reads it.

use std::time::Duration;

use axum::{
    Json,
    extract::{
        FromRequest, FromRequestParts, Path, Query, Request,
        rejection::{BytesRejection, JsonRejection},
    },
};
use bytes::Bytes;
use http::{StatusCode, Uri, header::CONTENT_LENGTH, request};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use super::problem::{Rejection, cause};
use crate::limits;

/// The one name in a path.
pub struct Name(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Rejection;

    async fn from_request_parts(head: &mut request::Parts, state: &S) -> Result<Name, Rejection> {
        let hint = "Names are UTF-8; what is no letter or digit is written with a percent sign.";
        let name = Path::<String>::from_request_parts(head, state).await;
        name.map(|Path(name)| Name(name)).map_err(|_| Rejection::invalid("The path is not UTF-8.", hint))
    }
}

/// The options of a query; `hint` says which there are.
pub fn read_options<T: DeserializeOwned>(uri: &Uri, hint: &str) -> Result<T, Rejection> {
    // Reading them would put a replacement character where there is no UTF-8, and look for a name that nobody gave.
    if percent_decode_str(uri.query().unwrap_or_default()).decode_utf8().is_err() {
        return Err(Rejection::invalid("The query is not UTF-8.", hint));
    }
    match Query::try_from_uri(uri) {
        Ok(Query(options)) => Ok(options),
        Err(error) => Err(Rejection::invalid(format!("The query cannot be read: {}.", cause(&error)), hint)),
    }
}

/// A JSON body; `hint` says what it holds.
pub async fn read_json<T: DeserializeOwned>(request: Request, hint: &str) -> Result<T, Rejection> {
    let read = Json::from_request(request, &()).await;
    read.map(|Json(value)| value).map_err(|error| {
        let message = format!("The body cannot be read: {}.", cause(&error));
        unread_json(&error, message, hint)
    })
}

/// The same for a body of which no error may repeat anything.
pub async fn read_secret_json<T: DeserializeOwned>(request: Request, hint: &str) -> Result<T, Rejection> {
    let read = Json::from_request(request, &()).await;
    read.map(|Json(value)| value)
        .map_err(|error| unread_json(&error, "The body is not the JSON that is expected here.".to_owned(), hint))
}

/// `message`: what is said where it is the text that is wrong.
fn unread_json(error: &JsonRejection, message: String, hint: &str) -> Rejection {
    match error {
        JsonRejection::BytesRejection(error) => {
            let max = limits::ADMIN_BODY_BYTES_MAX;
            Rejection::unread(error.status(), format!("A body may have {max} bytes here."))
        }
        JsonRejection::MissingJsonContentType(_) => {
            let message = "The body has no Content-Type: application/json.";
            Rejection::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid", message, hint)
        }
        error => Rejection::new(error.status(), "invalid", message, hint),
    }
}

/// The body of a deploy. Its bytes count among those of all components that operators have sent until they are dropped.
pub struct Component(pub Bytes);

/// Room for the components that operators send: a permit for each mebibyte. A component without room is read when others have left.
static ROOM: Semaphore = Semaphore::const_new(ROOM_MIB as usize);
const READ_WITHIN: Duration = Duration::from_millis(limits::ADMIN_COMPONENT_READ_MS);
const ROOM_MIB: u32 = (limits::ADMIN_COMPONENT_BYTES_MAX >> 20) as u32;

/// Bytes with their part of [`ROOM`].
struct Received {
    bytes: Bytes,
    _room: Option<SemaphorePermit<'static>>,
}

impl AsRef<[u8]> for Received {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl<S: Send + Sync> FromRequest<S> for Component {
    type Rejection = Rejection;

    async fn from_request(request: Request, state: &S) -> Result<Component, Rejection> {
        let Some(mebibytes) = mebibytes(&request) else {
            return Err(Rejection::unread(StatusCode::PAYLOAD_TOO_LARGE, size_hint()));
        };
        let room = ROOM.acquire_many(mebibytes).await.ok();
        let received = timeout(READ_WITHIN, Bytes::from_request(request, state)).await;
        let received = received.map_err(|_| Rejection::unread(StatusCode::REQUEST_TIMEOUT, "It took too long."))?;
        let bytes = received.map_err(|error| unread_component(&error))?;
        Ok(Component(Bytes::from_owner(Received { bytes, _room: room })))
    }
}

/// Room that the body needs: all of it if the request does not state a length. `None`: the body is too large.
fn mebibytes(request: &Request) -> Option<u32> {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let Some(length) = length else { return Some(ROOM_MIB) };
    u32::try_from(length.div_ceil(1 << 20)).ok().filter(|mebibytes| *mebibytes <= ROOM_MIB)
}

/// Why the bytes of a component did not come.
fn unread_component(error: &BytesRejection) -> Rejection {
    Rejection::unread(error.status(), size_hint())
}

fn size_hint() -> String {
    let max = limits::ADMIN_COMPONENT_BYTES_MAX;
    format!("A component may have {max} bytes here; plugins.toml sets a smaller limit for each plugin.")
}
