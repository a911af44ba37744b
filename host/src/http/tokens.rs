//! The OAuth token endpoint: parses token requests and renders the responses of RFC 6749 (5.1, 5.2).
//!
//! This module never logs a secret or a token. Invariants: a form contains no parameter twice. A client whose
//! authentication fails gets the same response for every cause. Every response forbids caching.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header, request};
use hyper::body::Body as HttpBody;
use serde::Serialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::{
    Backend, Body,
    admission::anonymous_caller,
    content::{BodyLimits, read_secret_content},
    error::RequestError,
    query::{decode_secret, parse_secret_form},
    response,
    service::{RequestContext, Service},
};
use crate::{
    auth::oauth::{GrantError, IssuedToken, JWKS_PATH, METADATA_PATH, Proof, TOKEN_PATH, TokenRequest},
    config::PluginLimits,
    host_error::HostError,
    limits::{TOKEN_FORM_BYTES_MAX, TOKEN_RATE_PER_ADDRESS, TOKEN_RATE_PER_CLIENT},
    plugin::{exchange::Content, routes::RouteTable},
    secrets::{SecretText, wiped},
};

const FORM: &str = "application/x-www-form-urlencoded";

/// A rate limit of the endpoint, in the form that `Rates` checks.
struct TokenRate {
    bucket: Arc<str>,
    limits: PluginLimits,
}

impl TokenRate {
    fn new(bucket: &str, (per_second, burst): (u32, u32)) -> TokenRate {
        let limits = PluginLimits { rate_per_second: per_second, rate_burst: burst, ..PluginLimits::default() };
        TokenRate { bucket: bucket.into(), limits }
    }
}

static BY_ADDRESS: LazyLock<TokenRate> =
    LazyLock::new(|| TokenRate::new("/oauth2/token by address", TOKEN_RATE_PER_ADDRESS));
static BY_CLIENT: LazyLock<TokenRate> =
    LazyLock::new(|| TokenRate::new("/oauth2/token by client", TOKEN_RATE_PER_CLIENT));

/// Why no token was issued.
enum TokenError {
    Grant(GrantError),
    /// The request could not be read: the status that accompanies `invalid_request`, and the reason.
    Unreadable(StatusCode, &'static str),
    /// There was no memory to read the request.
    NoMemory,
    /// The rate limit was exceeded. Seconds to wait.
    RateLimited(u64),
}

/// A parsed request: client authentication and token parameters.
struct ParsedRequest {
    proof: Proof,
    request: TokenRequest,
}

impl<C: Backend> Service<C> {
    /// Returns true if the path is that of the token endpoint and the host issues tokens.
    pub(super) fn is_token_path(&self, head: &request::Parts) -> bool {
        head.uri.path() == TOKEN_PATH && self.oauth.issuer().is_some()
    }

    pub(super) fn is_token_request(&self, head: &request::Parts) -> bool {
        head.method == Method::POST && self.is_token_path(head)
    }

    /// Returns a document that the host publishes for clients and for verifiers of tokens.
    pub(super) fn find_document(&self, table: &RouteTable<C::Owner>, path: &str) -> Option<Bytes> {
        self.oauth.issuer()?;
        match path {
            // Not cached with the route table, because keys change while the table stays the same.
            JWKS_PATH => Some(self.oauth.jwks((self.clock)()).to_string().into()),
            METADATA_PATH => Some(table.rendered.get(path, || self.metadata(table).to_string())),
            _ => None,
        }
    }

    fn metadata(&self, table: &RouteTable<C::Owner>) -> Value {
        let oauth_plugins = table.mounted().iter().filter(|mounted| mounted.manifest.authentication.oauth);
        let routes = oauth_plugins.flat_map(|mounted| &mounted.manifest.routes);
        let mut scopes: Vec<&str> = routes.flat_map(|route| &route.scopes).map(String::as_str).collect();
        scopes.sort_unstable();
        scopes.dedup();
        self.oauth.metadata(&scopes).unwrap_or_default()
    }

    pub(super) async fn handle_token_request<B>(
        &self,
        head: &request::Parts,
        body: &mut B,
        context: &RequestContext<C::Owner>,
    ) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Unpin,
    {
        match self.grant(head, body, context).await {
            Ok(issued) => token_response(&issued),
            Err(error) => error_response(&error, head, &context.request_id),
        }
    }

    async fn grant<B>(
        &self,
        head: &request::Parts,
        body: &mut B,
        context: &RequestContext<C::Owner>,
    ) -> Result<IssuedToken, TokenError>
    where
        B: HttpBody<Data = Bytes> + Unpin,
    {
        let address = self.origins.client_address(context.peer.address, &head.headers);
        let caller = anonymous_caller(address);
        self.check_token_rate(&BY_ADDRESS, &caller)?;
        let limits = BodyLimits {
            bytes_max: TOKEN_FORM_BYTES_MAX,
            until: context.began + Duration::from_millis(self.settings.body_timeout_ms),
            media_types: &[FORM.to_owned()],
            budget: &self.budget,
            party: &caller,
            progress_limits: self.progress_limits(),
            anonymous: Some(&self.anonymous_bodies),
        };
        let (content, _charge) = read_secret_content(head, body, limits).await?;
        let ParsedRequest { proof, request } = read(&head.headers, &content)?;
        let now = (self.clock)();
        let proven = self.oauth.verify_client(&proof, now)?;
        self.check_token_rate(&BY_CLIENT, &proven.client.id)?;
        let client = self.oauth.use_proof(proven, now).await?;
        if self.is_exposed(head, client.environment.name(), context) {
            self.log_exposure(&client.id, context);
            return Err(GrantError::Request("a live client must use https").into());
        }
        Ok(self.oauth.grant(&client, &request, now)?)
    }

    fn check_token_rate(&self, limit: &TokenRate, caller: &Arc<str>) -> Result<(), TokenError> {
        let rate = self.rates.check(&limit.bucket, &limit.limits, caller);
        rate.and_then(|rate| rate.retry_after_seconds).map_or(Ok(()), |seconds| Err(TokenError::RateLimited(seconds)))
    }
}

impl From<GrantError> for TokenError {
    fn from(error: GrantError) -> TokenError {
        TokenError::Grant(error)
    }
}

impl From<RequestError> for TokenError {
    fn from(error: RequestError) -> TokenError {
        let status = StatusCode::from_u16(error.kind.default_status()).unwrap_or(StatusCode::BAD_REQUEST);
        match error.kind {
            HostError::Unavailable => TokenError::NoMemory,
            HostError::UnsupportedMediaType => {
                TokenError::Unreadable(status, "the body must be application/x-www-form-urlencoded")
            }
            _ => TokenError::Unreadable(error.status.unwrap_or(status), error.reason),
        }
    }
}

fn read(headers: &HeaderMap, content: &Content) -> Result<ParsedRequest, GrantError> {
    let mut form = Form::parse(content)?;
    let basic = read_basic(headers)?;
    let (id, secret) = (form.take("client_id"), form.take_secret("client_secret"));
    let (kind, assertion) = (form.take("client_assertion_type"), form.take_secret("client_assertion"));
    let methods = [basic.is_some(), secret.is_some(), assertion.is_some()];
    if methods.into_iter().filter(|used| *used).count() > 1 {
        return Err(GrantError::Request("the request must use one client authentication method"));
    }
    let proof = match (basic, secret, assertion) {
        (Some((client, _)), _, _) if id.as_ref().is_some_and(|id| *id != client) => {
            return Err(GrantError::Request("client_id must match the Authorization header"));
        }
        (Some((client, secret)), _, _) => Proof::Secret { client, secret },
        (None, Some(secret), _) => {
            let client = id.ok_or(GrantError::Request("client_secret requires client_id"))?;
            Proof::Secret { client, secret: SecretText::from(secret) }
        }
        (None, None, Some(text)) => {
            let kind = kind.ok_or(GrantError::Request("client_assertion requires client_assertion_type"))?;
            Proof::Assertion { kind, text: SecretText::from(text), client: id }
        }
        (None, None, None) => return Err(GrantError::Client("no client authentication")),
    };
    let (resource, audience) = (form.take("resource"), form.take("audience"));
    if resource.is_some() && audience.is_some() && resource != audience {
        return Err(GrantError::Target);
    }
    let request = TokenRequest {
        grant_type: form.take("grant_type"),
        scope: form.take("scope"),
        audience: resource.or(audience),
    };
    Ok(ParsedRequest { proof, request })
}

/// A token form. Ignores unknown parameters, and omits those without a value (RFC 6749, 3.2).
struct Form(Vec<(Zeroizing<String>, Zeroizing<String>)>);

impl Form {
    fn parse(content: &Content) -> Result<Form, GrantError> {
        let text = match content {
            Content::Other { bytes, .. } => {
                str::from_utf8(bytes).map_err(|_| GrantError::Request("the form must be UTF-8"))?
            }
            Content::Empty => "",
            Content::Json(_) => return Err(GrantError::Request("the body must be a form")),
        };
        let pairs = parse_secret_form(text).ok_or(GrantError::Request("the form is malformed or too long"))?;
        for (position, (name, _)) in pairs.iter().enumerate() {
            if pairs.iter().take(position).any(|(earlier, _)| earlier.as_str() == name.as_str()) {
                return Err(GrantError::Request("a parameter must not be repeated"));
            }
        }
        Ok(Form(pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect()))
    }

    fn take(&mut self, name: &str) -> Option<String> {
        self.take_secret(name).map(into_plain)
    }

    fn take_secret(&mut self, name: &str) -> Option<Zeroizing<String>> {
        let at = self.0.iter().position(|(known, _)| known.as_str() == name)?;
        Some(self.0.swap_remove(at).1)
    }
}

/// Converts a value that is not a secret.
fn into_plain(mut text: Zeroizing<String>) -> String {
    std::mem::take(&mut *text)
}

/// Parses `Authorization: Basic`. Both halves are form-encoded before they are joined (RFC 6749, 2.3.1).
fn read_basic(headers: &HeaderMap) -> Result<Option<(String, SecretText)>, GrantError> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), more) = (values.next(), values.next()) else { return Ok(None) };
    if more.is_some() {
        return Err(GrantError::Request("there must be at most one Authorization header"));
    }
    let read = || {
        let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
        let encoded = encoded.trim();
        let mut bytes = Zeroizing::new(vec![0_u8; base64::decoded_len_estimate(encoded.len())]);
        let length = STANDARD.decode_slice(encoded, bytes.as_mut_slice()).ok()?;
        let (client, secret) = str::from_utf8(bytes.get(..length)?).ok()?.split_once(':')?;
        let pair = (into_plain(decode_secret(client)?), SecretText::from(decode_secret(secret)?));
        scheme.eq_ignore_ascii_case("basic").then_some(pair)
    };
    read().map(Some).ok_or(GrantError::Client("the Authorization header must be Basic"))
}

/// A token response (RFC 6749, 5.1).
#[derive(Serialize)]
struct TokenResponse<'a> {
    access_token: &'a str,
    token_type: &'static str,
    expires_in: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    scope: &'a str,
}

fn token_response(issued: &IssuedToken) -> Response<Body> {
    let body = TokenResponse {
        access_token: issued.token.expose(),
        token_type: "Bearer",
        expires_in: issued.expires_in_seconds,
        scope: &issued.scope,
    };
    // Strings and a number always serialize.
    uncached(response::json(wiped::json_bytes(&body).unwrap_or_default()))
}

fn error_response(error: &TokenError, head: &request::Parts, request_id: &str) -> Response<Body> {
    let (status, code, description, wait) = match error {
        TokenError::Unreadable(status, reason) => (*status, "invalid_request", *reason, None),
        TokenError::NoMemory => (StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", "try again", Some(1)),
        TokenError::RateLimited(seconds) => {
            (StatusCode::TOO_MANY_REQUESTS, "temporarily_unavailable", "too many token requests", Some(*seconds))
        }
        TokenError::Grant(error) => describe(error),
    };
    match error {
        TokenError::Grant(GrantError::Unavailable(error)) => {
            tracing::warn!(request_id, %error, "failed to issue a token")
        }
        TokenError::Grant(error) => tracing::debug!(request_id, %error, "rejected a token request"),
        _ => tracing::debug!(request_id, code, status = status.as_u16(), "rejected a token request"),
    }
    let mut response = uncached(response::json(json!({ "error": code, "error_description": description }).to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if status == StatusCode::UNAUTHORIZED && head.headers.contains_key(header::AUTHORIZATION) {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"oauth2\""));
    }
    if let Some(seconds) = wait {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn describe(error: &GrantError) -> (StatusCode, &'static str, &'static str, Option<u64>) {
    let (status, description, wait) = match error {
        GrantError::Request(reason) => (StatusCode::BAD_REQUEST, *reason, None),
        GrantError::Client(_) => (StatusCode::UNAUTHORIZED, "client authentication failed", None),
        GrantError::GrantType => (StatusCode::BAD_REQUEST, "grant_type must be client_credentials", None),
        GrantError::Scope => (StatusCode::BAD_REQUEST, "scope must be a subset of the scopes of the client", None),
        GrantError::Target => {
            (StatusCode::BAD_REQUEST, "resource and audience must name the interface of the client", None)
        }
        GrantError::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "try again", Some(1)),
    };
    (status, error.code(), description, wait)
}

fn uncached(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::secrets::{
        new_key_text,
        wiped::tests::{SEARCHING, count_copies, masked},
    };

    #[test]
    fn client_secrets_leave_no_copy_in_freed_memory() {
        let _alone = SEARCHING.lock();
        let text = new_key_text().unwrap();
        let needle = masked(text.as_bytes());
        let form = ["grant_type=client_credentials&client_id=c&client_secret=", text.as_str()].concat();
        // The buffers of hyper are not wiped. This one is.
        let bytes = Bytes::from_owner(Zeroizing::new(form.into_bytes()));
        let content = Content::Other { media_type: FORM.to_owned(), bytes };
        let parsed = read(&HeaderMap::new(), &content).unwrap();
        drop((text, content));
        assert!(count_copies(&needle) > 0, "the proof holds the secret");
        drop(parsed);
        assert_eq!(count_copies(&needle), 0);
    }

    #[test]
    fn rejected_forms_and_headers_leave_no_copy_of_a_client_secret() {
        let _alone = SEARCHING.lock();
        let text = new_key_text().unwrap();
        let needle = masked(text.as_bytes());
        let escaped: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let pair = Zeroizing::new(["c:", text.as_str()].concat());
        let encoded = STANDARD.encode(pair.as_bytes());
        assert!(count_copies(&needle) > 0, "the search finds what is there");
        drop((text, pair));
        for rest in ["client_secret=twice", "client_assertion=another-way", "scope=%FF"] {
            let form = format!("client_id=c&client_secret=a+{escaped}&{rest}");
            let content = Content::Other { media_type: FORM.to_owned(), bytes: form.into() };
            assert!(read(&HeaderMap::new(), &content).is_err());
            assert_eq!(count_copies(&needle), 0, "{rest}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, HeaderValue::try_from(format!("Basic {encoded}!")).unwrap());
        assert!(read(&headers, &Content::Empty).is_err());
        assert_eq!(count_copies(&needle), 0, "a header that is no base64");
    }
}
