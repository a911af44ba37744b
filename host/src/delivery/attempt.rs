//! A request to one endpoint: the stored bytes, signed, and the result of the response.
//!
//! Never retries and decides nothing about later attempts. The result contains no secret of the host: only the class
//! and the reason of a failure, the status, and the first bytes of the response.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header::CONTENT_TYPE};

use super::{
    DeliveryParts,
    queues::EndpointInfo,
    schedule::Outcome,
    signing::{self, CustomHeader, Message, SigningSecret},
};
use crate::{
    changes::endpoint::SignatureKey,
    clock::Timestamp,
    config::Success,
    db::apply::{EventSeq, QueueId, StoredEvent},
    limits::ATTEMPT_RESPONSE_BYTES_MAX,
    outbound::{HOPS_HEADER, OutboundCall, OutboundError, OutboundResponse, Party, next_hops, retry_after_ms},
    secrets::SecretText,
};

pub struct AttemptJob {
    pub queue: QueueId,
    pub seq: EventSeq,
    pub info: Arc<EndpointInfo>,
    /// The event if it is in memory.
    pub event: Option<Arc<StoredEvent>>,
}

/// The result of an attempt.
pub struct AttemptResult {
    pub queue: QueueId,
    pub seq: EventSeq,
    pub at: Timestamp,
    pub duration_ms: u64,
    /// "delivered", "status", "missing", "not-made", or the class of the failure.
    pub name: &'static str,
    pub status: Option<u16>,
    /// The first bytes of the response, or a reason.
    pub response: Vec<u8>,
    pub outcome: Outcome,
    /// The commit time of the event, or `at` if the event was not read.
    pub committed_at: Timestamp,
}

const DELIVERED: &str = "delivered";
const UNSUCCESSFUL_STATUS: &str = "status";

impl AttemptResult {
    fn new(job: &AttemptJob, at: Timestamp, outcome: Outcome, name: &'static str) -> AttemptResult {
        let committed_at = job.event.as_ref().map_or(at, |event| event.at);
        let (queue, seq) = (job.queue, job.seq);
        AttemptResult {
            queue,
            seq,
            at,
            duration_ms: 0,
            name,
            status: None,
            response: Vec::new(),
            outcome,
            committed_at,
        }
    }
}

/// Sends the request and returns its result within the timeout of the policy, plus the time to read the event and the
/// keys.
pub async fn perform(parts: &DeliveryParts, mut job: AttemptJob) -> AttemptResult {
    let at = parts.clock.now();
    if job.event.is_none() {
        match parts.database.load_events(&[job.seq]).await {
            Ok(mut found) => job.event = found.remove(&job.seq),
            Err(error) => {
                tracing::warn!(%error, "failed to read an event; its delivery is postponed");
                return AttemptResult::new(&job, at, Outcome::NotMade, "not-made");
            }
        }
    }
    let Some(event) = job.event.clone() else { return AttemptResult::new(&job, at, Outcome::Missing, "missing") };
    let target = match &job.info.target {
        Ok(target) => target.clone(),
        Err(error) => {
            let result = AttemptResult::new(&job, at, Outcome::Failed { retry_after_ms: None }, "address-not-allowed");
            return AttemptResult { response: error.to_string().into_bytes(), ..result };
        }
    };
    let headers = match headers(parts, &job.info, &event, at).await {
        Ok(headers) => headers,
        Err(reason) => {
            tracing::error!(endpoint = job.info.id.as_str(), reason, "failed to sign a webhook");
            return AttemptResult::new(&job, at, Outcome::NotMade, "not-made");
        }
    };
    let call = OutboundCall {
        party: Party::of(job.info.scope.organization()),
        target,
        method: Method::POST,
        headers,
        body: Bytes::from_owner(Body(event.body.clone())),
        within: Duration::from_millis(job.info.policy.config.timeout_ms),
        response_bytes_max: ATTEMPT_RESPONSE_BYTES_MAX,
    };
    let rule = parts.outbound_context.addresses.rule(job.info.scope.tenant());
    match parts.client.send(&call, rule).await {
        Ok(response) => result_of_response(&job, at, parts.clock.now(), response),
        Err(error) => result_of_error(&job, at, error),
    }
}

/// The stored string as bytes, without a copy.
struct Body(Arc<str>);

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

async fn headers(
    parts: &DeliveryParts,
    info: &EndpointInfo,
    event: &StoredEvent,
    at: Timestamp,
) -> Result<HeaderMap, String> {
    let api_keys = find_api_keys(parts, info, at).await?;
    let signer = info.endpoint.key.signer(&info.scope, info.id.as_str());
    let error_text = |error: &dyn std::fmt::Display| error.to_string();
    let secrets = parts.outbound_context.signing.secrets(&signer, at).map_err(|error| error_text(&error))?;
    let secrets: Result<Vec<_>, _> = secrets.iter().map(|secret| SigningSecret::from_bytes(secret.as_ref())).collect();
    let secrets = secrets.map_err(|error| error_text(&error))?;
    let message = Message { id: &event.id, timestamp: at / 1_000, body: event.body.as_bytes() };
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.extend(signing::sign(&message, &secrets).map_err(|error| error_text(&error))?);
    // A receiver that checks a custom header may have only one key, so the header is signed with the newest.
    let newest = secrets.first().filter(|_| !info.endpoint.signatures.is_empty()).map(SigningSecret::text);
    for (signature, api_key) in info.endpoint.signatures.iter().zip(&api_keys) {
        let key = if signature.key == SignatureKey::Endpoint { &newest } else { api_key };
        let Some(key) = key else { continue };
        let own = CustomHeader::new(&signature.header, &signature.prefix, signature.algorithm);
        let own = own.map_err(|error| error_text(&error))?;
        let (name, value) =
            own.sign(key.expose().as_bytes(), event.body.as_bytes()).map_err(|error| error_text(&error))?;
        headers.insert(name, value);
    }
    headers.insert(HOPS_HEADER, next_hops(event.hops));
    Ok(headers)
}

/// Returns one entry for each signature of the endpoint: its API key, or `None` if it requires none or none was found.
/// A tenant without the required key still receives its webhooks, because the headers of Standard Webhooks sign them
/// too.
async fn find_api_keys(
    parts: &DeliveryParts,
    info: &EndpointInfo,
    at: Timestamp,
) -> Result<Vec<Option<SecretText>>, String> {
    let mut keys = Vec::with_capacity(info.endpoint.signatures.len());
    for signature in &info.endpoint.signatures {
        let attribute = match &signature.key {
            SignatureKey::Endpoint => {
                keys.push(None);
                continue;
            }
            SignatureKey::ApiKey => None,
            SignatureKey::Issued(attribute) => Some(attribute.clone()),
        };
        let found = (parts.api_keys)(info.scope.clone(), attribute.clone()).await?;
        if found.is_none() && info.may_warn_unsigned(at) {
            warn_unsigned(info, attribute.is_some());
        }
        keys.push(found);
    }
    Ok(keys)
}

fn warn_unsigned(info: &EndpointInfo, is_issued: bool) {
    let remedy =
        if is_issued { "The plugin issues such keys" } else { "Create one with `tenon key create … --signs`" };
    tracing::warn!(
        endpoint = info.id.as_str(),
        plugin = &**info.scope.plugin(),
        tenant = &**info.scope.tenant(),
        remedy,
        "sending webhooks without the configured signature by an API key: none of the tenant's valid keys signs"
    );
}

fn result_of_response(job: &AttemptJob, at: Timestamp, now: Timestamp, response: OutboundResponse) -> AttemptResult {
    let accepted = match job.info.policy.config.success {
        Success::Any2xx => response.status.is_success(),
        Success::Only200 => response.status == StatusCode::OK,
    };
    let (outcome, name) = match response.status {
        _ if accepted => (Outcome::Delivered, DELIVERED),
        StatusCode::GONE => (Outcome::Gone, UNSUCCESSFUL_STATUS),
        _ => (Outcome::Failed { retry_after_ms: retry_after_ms(&response.headers, now) }, UNSUCCESSFUL_STATUS),
    };
    let mut body = response.body.to_vec();
    if !accepted && response.status.is_success() {
        let hint =
            format!("status {} is not 200, the only success status of this interface. ", response.status.as_u16());
        body.splice(0..0, hint.into_bytes());
    }
    let result = AttemptResult::new(job, at, outcome, name);
    AttemptResult {
        duration_ms: response.duration_ms,
        status: Some(response.status.as_u16()),
        response: body,
        ..result
    }
}

fn result_of_error(job: &AttemptJob, at: Timestamp, error: OutboundError) -> AttemptResult {
    // The error names addresses that the tenant must not see, so only the log contains it.
    tracing::debug!(
        endpoint = job.info.id.as_str(),
        tenant = &**job.info.scope.tenant(),
        "failed to send a webhook: {error}"
    );
    let result = AttemptResult::new(job, at, Outcome::Failed { retry_after_ms: None }, error.class.name());
    let response = error.reason.map(|reason| format!("{}: {reason}", reason.code()).into_bytes());
    AttemptResult { duration_ms: error.duration_ms, response: response.unwrap_or_default(), ..result }
}
