//! Extractors of a request: the operator, the name in the path, the options of the query, a JSON body, a component.
//!
//! Every error is an [`AdminError`] whose message does not mention the parser.

use std::time::Duration;

use axum::{
    Json,
    extract::{
        FromRequest, FromRequestParts, Path, Query, Request,
        rejection::{BytesRejection, JsonRejection},
    },
    middleware::Next,
    response::Response,
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri, header::CONTENT_LENGTH, request};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, de::DeserializeOwned};
use tokio::{
    sync::{Semaphore, SemaphorePermit, watch},
    time::timeout,
};

use super::error::{AdminError, cause};
use crate::{changes::operator_action::OperatorAction, clock::Timestamp, limits};

/// Header with the operator's name, set by the operator's program.
pub const OPERATOR_HEADER: &str = "x-tenon-operator";

/// Returns the operator's name from the header, reduced to characters that are safe in logs and on terminals. The name
/// is not authenticated.
pub fn operator_name(headers: &HeaderMap) -> String {
    let value = headers.get(OPERATOR_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let safe = value.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.@+".contains(*c));
    let name: String = safe.take(limits::OPERATOR_NAME_CHARS_MAX).collect();
    if name.is_empty() { "operator".to_owned() } else { name }
}

/// The action of a route under its name in the journal. `actions::perform` adds it to requests.
#[derive(Clone, Copy, Debug)]
pub struct Action(pub &'static str);

/// The connection of the caller of an action, for handlers that run for long.
#[derive(Clone)]
pub struct Caller(pub watch::Receiver<()>);

impl Caller {
    /// Returns when the caller has disconnected.
    pub async fn disconnected(mut self) {
        // The sender sends nothing. An error means that it was dropped with the connection.
        let _disconnected = self.0.changed().await;
    }
}

/// The operator who sent a request, and the action of the route. Only routes with an action have one.
pub struct Operator {
    pub name: String,
    action: Action,
}

impl Operator {
    /// Returns the journal line of the action after it was done. `plugin` may be "*".
    pub fn done(&self, at: Timestamp, plugin: &str, target: String) -> OperatorAction {
        OperatorAction::done(at, &self.name, (plugin, self.action.0), target)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Operator {
    type Rejection = AdminError;

    async fn from_request_parts(head: &mut request::Parts, _state: &S) -> Result<Operator, AdminError> {
        let action = head.extensions.get::<Action>().copied();
        let action = action.ok_or_else(|| AdminError::failed("the route has no action"))?;
        Ok(Operator { name: operator_name(&head.headers), action })
    }
}

/// The name in a path with one parameter.
pub struct Name(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = AdminError;

    async fn from_request_parts(head: &mut request::Parts, state: &S) -> Result<Name, AdminError> {
        let hint = "Names must be percent-encoded UTF-8.";
        let name = Path::<String>::from_request_parts(head, state).await;
        name.map(|Path(name)| Name(name)).map_err(|_| AdminError::invalid("The path is not UTF-8.", hint))
    }
}

/// Parses the options of a query. `hint` is a sentence that begins with "The option" and lists them.
pub fn read_options<T: DeserializeOwned>(uri: &Uri, hint: &str) -> Result<T, AdminError> {
    // The parser would insert replacement characters for invalid UTF-8, and the query would match another name.
    if percent_decode_str(uri.query().unwrap_or_default()).decode_utf8().is_err() {
        return Err(AdminError::invalid("The query is not UTF-8.", hint));
    }
    match Query::try_from_uri(uri) {
        Ok(Query(options)) => Ok(options),
        Err(error) => Err(AdminError::invalid(format!("The query cannot be read: {}.", cause(&error)), hint)),
    }
}

/// The options of a route that takes none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

/// Rejects a request with options. Middleware of the routes that take none.
pub async fn reject_options(request: Request, next: Next) -> Result<Response, AdminError> {
    let NoOptions {} = read_options(request.uri(), "The route takes no options.")?;
    Ok(next.run(request).await)
}

/// Returns the page size, or an error if it is out of range.
pub fn check_limit(limit: Option<u32>, hint: &str) -> Result<u32, AdminError> {
    let (limit, max) = (limit.unwrap_or(limits::ADMIN_PAGE_DEFAULT), limits::ADMIN_PAGE_MAX);
    if (1..=max).contains(&limit) {
        return Ok(limit);
    }
    Err(AdminError::invalid(format!("limit must be from 1 to {max}, not {limit}."), hint))
}

/// Parses a JSON body. `hint` lists its members.
pub async fn read_json<T: DeserializeOwned>(request: Request, hint: &str) -> Result<T, AdminError> {
    let read = Json::from_request(request, &()).await;
    read.map(|Json(value)| value).map_err(|error| {
        let message = format!("The body cannot be read: {}.", cause(&error));
        json_error(&error, message, hint)
    })
}

/// Parses a JSON body that contains a secret: no error message repeats a part of the body.
pub async fn read_secret_json<T: DeserializeOwned>(request: Request, hint: &str) -> Result<T, AdminError> {
    let read = Json::from_request(request, &()).await;
    read.map(|Json(value)| value)
        .map_err(|error| json_error(&error, "The body does not have the expected JSON members.".to_owned(), hint))
}

/// Returns the error for a body that was not parsed. `message` is used if the body was received, but is not JSON or
/// does not have the expected members.
fn json_error(error: &JsonRejection, message: String, hint: &str) -> AdminError {
    match error {
        JsonRejection::BytesRejection(error) => {
            let max = limits::ADMIN_BODY_BYTES_MAX;
            AdminError::incomplete_body(error.status(), format!("The body must have at most {max} bytes."))
        }
        JsonRejection::MissingJsonContentType(_) => {
            let message = "The Content-Type header must be application/json.";
            AdminError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid", message, hint)
        }
        error => AdminError::new(error.status(), "invalid", message, hint),
    }
}

/// The body of a deploy or a check. Its bytes hold permits of [`UPLOAD_PERMITS`] until they are dropped.
pub struct Component(pub Bytes);

/// Limits the memory of all uploaded components: one permit for each mebibyte. An upload waits until enough permits are
/// free.
static UPLOAD_PERMITS: Semaphore = Semaphore::const_new(UPLOAD_MIB_MAX as usize);
const READ_TIMEOUT: Duration = Duration::from_millis(limits::ADMIN_COMPONENT_READ_MS);
const UPLOAD_MIB_MAX: u32 = (limits::ADMIN_COMPONENT_BYTES_MAX >> 20) as u32;

/// Bytes with their permits of [`UPLOAD_PERMITS`].
struct PermittedBytes {
    bytes: Bytes,
    _permits: Option<SemaphorePermit<'static>>,
}

impl AsRef<[u8]> for PermittedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl<S: Send + Sync> FromRequest<S> for Component {
    type Rejection = AdminError;

    async fn from_request(request: Request, state: &S) -> Result<Component, AdminError> {
        let Some(mebibytes) = mebibytes(&request) else {
            return Err(AdminError::incomplete_body(StatusCode::PAYLOAD_TOO_LARGE, size_hint()));
        };
        let permits = UPLOAD_PERMITS.acquire_many(mebibytes).await.ok();
        let received = timeout(READ_TIMEOUT, Bytes::from_request(request, state)).await;
        let received =
            received.map_err(|_| AdminError::incomplete_body(StatusCode::REQUEST_TIMEOUT, "Reading it timed out."))?;
        let bytes = received.map_err(|error| component_error(&error))?;
        Ok(Component(Bytes::from_owner(PermittedBytes { bytes, _permits: permits })))
    }
}

/// Returns the number of permits that the body needs: all if the request has no Content-Length, `None` if it is too
/// large.
fn mebibytes(request: &Request) -> Option<u32> {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let Some(length) = length else { return Some(UPLOAD_MIB_MAX) };
    u32::try_from(length.div_ceil(1 << 20)).ok().filter(|mebibytes| *mebibytes <= UPLOAD_MIB_MAX)
}

fn component_error(error: &BytesRejection) -> AdminError {
    AdminError::incomplete_body(error.status(), size_hint())
}

fn size_hint() -> String {
    let max = limits::ADMIN_COMPONENT_BYTES_MAX;
    format!("A component must have at most {max} bytes. plugins.toml sets a smaller limit for each plugin.")
}
