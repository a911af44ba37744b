//! One request to one endpoint: the stored bytes, signed, and what the answer means.
//!
//! Never tries again and decides nothing about what follows. What it reports holds no secret of ours: the class of a
//! failure, the status, and the first bytes of what the receiver said.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header::CONTENT_TYPE};

use super::{
    Parts,
    lanes::LaneFacts,
    schedule::Outcome,
    signing::{self, Message, OwnHeader, SigningSecret},
};
use crate::clock::Timestamp;
use crate::{
    changes::endpoint::SignatureKey,
    config::Success,
    db::apply::{EventSeq, Lane, StoredEvent},
    limits::ATTEMPT_ANSWER_BYTES_MAX,
    outbound::{Answer, Call, Failure, HOPS_HEADER, Party, next_hops, retry_after_ms},
    secrets::SecretText,
};

pub struct Job {
    pub lane: Lane,
    pub seq: EventSeq,
    pub facts: Arc<LaneFacts>,
    /// Where it is still in memory.
    pub event: Option<Arc<StoredEvent>>,
}

/// What an attempt came to.
pub struct Ended {
    pub lane: Lane,
    pub seq: EventSeq,
    pub at: Timestamp,
    pub duration_ms: u64,
    /// "delivered", the class of the failure, or "status".
    pub name: &'static str,
    pub status: Option<u16>,
    /// The first bytes of the answer.
    pub answer: Vec<u8>,
    pub outcome: Outcome,
    /// When the event was committed.
    pub committed_at: Timestamp,
}

const DELIVERED: &str = "delivered";
const REFUSED_STATUS: &str = "status";

impl Ended {
    fn new(job: &Job, at: Timestamp, outcome: Outcome, name: &'static str) -> Ended {
        let committed_at = job.event.as_ref().map_or(at, |event| event.at);
        let (lane, seq) = (job.lane, job.seq);
        Ended { lane, seq, at, duration_ms: 0, name, status: None, answer: Vec::new(), outcome, committed_at }
    }
}

/// Always comes back, within the time of the policy and what reading the event takes.
pub async fn perform(parts: &Parts, mut job: Job) -> Ended {
    let at = parts.clock.now();
    if job.event.is_none() {
        match parts.database.load_events(&[job.seq]).await {
            Ok(mut found) => job.event = found.remove(&job.seq),
            Err(error) => {
                tracing::warn!(%error, "an event cannot be read: its delivery waits");
                return Ended::new(&job, at, Outcome::NotMade, "not-made");
            }
        }
    }
    let Some(event) = job.event.clone() else { return Ended::new(&job, at, Outcome::Missing, "missing") };
    let target = match &job.facts.target {
        Ok(target) => target.clone(),
        Err(refusal) => {
            let failed = Ended::new(&job, at, Outcome::Failed { retry_after_ms: None }, "address-not-allowed");
            return Ended { answer: refusal.to_string().into_bytes(), ..failed };
        }
    };
    let headers = match headers(parts, &job.facts, &event, at).await {
        Ok(headers) => headers,
        Err(reason) => {
            tracing::error!(endpoint = &*job.facts.id, reason, "a webhook cannot be signed");
            return Ended::new(&job, at, Outcome::NotMade, "not-made");
        }
    };
    let call = Call {
        party: Party::of(job.facts.scope.organization()),
        target,
        method: Method::POST,
        headers,
        body: Bytes::from_owner(Body(event.body.clone())),
        within: Duration::from_millis(job.facts.policy.config.timeout_ms),
        answer_bytes_max: ATTEMPT_ANSWER_BYTES_MAX,
    };
    let rule = parts.outside.addresses.rule(job.facts.scope.tenant());
    match parts.client.send(&call, rule).await {
        Ok(answer) => answered(&job, at, parts.clock.now(), answer),
        Err(failure) => failed(&job, at, failure),
    }
}

/// The stored text as bytes, without a copy.
struct Body(Arc<str>);

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

async fn headers(parts: &Parts, facts: &LaneFacts, event: &StoredEvent, at: Timestamp) -> Result<HeaderMap, String> {
    let api_keys = find_api_keys(parts, facts, at).await?;
    let signer = facts.endpoint.key.signer(&facts.scope, &facts.id);
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let secrets = parts.outside.signing.secrets(&signer, at).map_err(|error| words(&error))?;
    let secrets: Result<Vec<_>, _> = secrets.iter().map(|secret| SigningSecret::from_bytes(secret.as_ref())).collect();
    let secrets = secrets.map_err(|error| words(&error))?;
    let message = Message { id: &event.id, timestamp: at / 1_000, body: event.body.as_bytes() };
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.extend(signing::sign(&message, &secrets).map_err(|error| words(&error))?);
    // A receiver that knows one key only gets the signature of the newest.
    let newest = secrets.first().filter(|_| !facts.endpoint.signatures.is_empty()).map(SigningSecret::text);
    for (signature, api_key) in facts.endpoint.signatures.iter().zip(&api_keys) {
        let key = if signature.key == SignatureKey::Endpoint { &newest } else { api_key };
        let Some(key) = key else { continue };
        let own = OwnHeader::new(&signature.header, &signature.prefix, signature.algorithm);
        let own = own.map_err(|error| words(&error))?;
        let (name, value) = own.sign(key.expose().as_bytes(), event.body.as_bytes()).map_err(|error| words(&error))?;
        headers.insert(name, value);
    }
    headers.insert(HOPS_HEADER, next_hops(event.hops));
    Ok(headers)
}

/// For each signature of the endpoint, where it wants one. A tenant without any gets its webhooks all the same: those of
/// Standard Webhooks sign too.
async fn find_api_keys(parts: &Parts, facts: &LaneFacts, at: Timestamp) -> Result<Vec<Option<SecretText>>, String> {
    let mut keys = Vec::with_capacity(facts.endpoint.signatures.len());
    for signature in &facts.endpoint.signatures {
        let attribute = match &signature.key {
            SignatureKey::Endpoint => {
                keys.push(None);
                continue;
            }
            SignatureKey::ApiKey => None,
            SignatureKey::Issued(attribute) => Some(attribute.clone()),
        };
        let found = (parts.api_keys)(facts.scope.clone(), attribute.clone()).await?;
        if found.is_none() && facts.may_tell_unsigned(at) {
            tell_unsigned(facts, attribute.is_some());
        }
        keys.push(found);
    }
    Ok(keys)
}

fn tell_unsigned(facts: &LaneFacts, is_issued: bool) {
    let remedy = if is_issued { "The plugin issues such keys" } else { "Make one with `tenon key create … --signs`" };
    tracing::warn!(
        endpoint = &*facts.id,
        plugin = &**facts.scope.plugin(),
        tenant = &**facts.scope.tenant(),
        remedy,
        "webhooks go out without the signature by an API key that they are to have: none of the tenant's valid keys signs"
    );
}

fn answered(job: &Job, at: Timestamp, now: Timestamp, answer: Answer) -> Ended {
    let accepted = match job.facts.policy.config.success {
        Success::Any2xx => answer.status.is_success(),
        Success::Only200 => answer.status == StatusCode::OK,
    };
    let (outcome, name) = match answer.status {
        _ if accepted => (Outcome::Delivered, DELIVERED),
        StatusCode::GONE => (Outcome::Gone, REFUSED_STATUS),
        _ => (Outcome::Failed { retry_after_ms: retry_after_ms(&answer.headers, now) }, REFUSED_STATUS),
    };
    let mut body = answer.body.to_vec();
    if !accepted && answer.status.is_success() {
        let hint = format!("{} is not 200, which is the only success here. ", answer.status.as_u16());
        body.splice(0..0, hint.into_bytes());
    }
    let ended = Ended::new(job, at, outcome, name);
    Ended { duration_ms: answer.duration_ms, status: Some(answer.status.as_u16()), answer: body, ..ended }
}

fn failed(job: &Job, at: Timestamp, failure: Failure) -> Ended {
    // Its words name addresses that the tenant may not know of: they are for the operator.
    tracing::debug!(endpoint = &*job.facts.id, tenant = &**job.facts.scope.tenant(), "a webhook failed: {failure}");
    let ended = Ended::new(job, at, Outcome::Failed { retry_after_ms: None }, failure.class.name());
    let answer = failure.reason.map(|reason| format!("{}: {reason}", reason.code()).into_bytes());
    Ended { duration_ms: failure.duration_ms, answer: answer.unwrap_or_default(), ..ended }
}
