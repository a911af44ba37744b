//! `subscriptions`: endpoints that events are delivered to. Converts values and checks URLs. The draft implements the
//! rest.

use tenon_bindings::tenon::plugin::subscriptions::{self as wit, Host};

use super::trap;
use crate::{
    capability::CallState,
    changes::endpoint::{Algorithm, Endpoint, Signature, SignatureKey, SigningKey},
    commit::draft::{DeliveryState, DraftError, EndpointEntry, StoredAttempt, StoredDelivery, TooMany},
    limits::{
        DELIVERIES_LISTED_MAX, ENDPOINT_FILTER_MAX, ENDPOINT_NOTE_BYTES_MAX, ENDPOINT_PARSED_FACTOR,
        ENDPOINT_SIGNATURES_MAX, ENDPOINTS_BYTES_MAX, ENDPOINTS_MAX, SECRET_OVERLAP_MS,
    },
    outbound::UrlError,
};

impl Host for CallState {
    async fn put(&mut self, endpoint: wit::Endpoint) -> wasmtime::Result<Result<(), wit::Refusal>> {
        self.count(size_of(&endpoint))?;
        if let Err(refusal) = self.check_url(&endpoint.url) {
            return Ok(Err(url_refusal(&refusal)));
        }
        let (signatures, note) = match (signatures(endpoint.signatures), note(endpoint.note)) {
            (Ok(signatures), Ok(note)) => (signatures, note),
            (Err(refusal), _) | (_, Err(refusal)) => return Ok(Err(refusal)),
        };
        let filters = endpoint.event_types.len().max(endpoint.subjects.len());
        if filters > ENDPOINT_FILTER_MAX {
            return Ok(Err(malformed(format!("an endpoint names at most {ENDPOINT_FILTER_MAX} types and subjects"))));
        }
        let wait_started = self.begin_wait();
        let before = self.draft().find_endpoint(&endpoint.id).await.map_err(trap)?;
        let key = match before {
            Some(before) => before.endpoint.key,
            None => SigningKey { nonce: hex::encode(self.random_array::<16>()), number: 1, previous_until: None },
        };
        let after = Endpoint {
            url: endpoint.url,
            event_types: endpoint.event_types,
            subjects: endpoint.subjects,
            enabled: endpoint.enabled,
            signatures,
            note,
            key,
            disabled: None,
        };
        let done = self.draft().put_endpoint(&endpoint.id, &after).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        Ok(done.map_err(|refusal| match refusal {
            TooMany::Entries => wit::Refusal::TooMany(ENDPOINTS_MAX),
            TooMany::Bytes => {
                malformed(format!("the endpoints of a tenant have at most {ENDPOINTS_BYTES_MAX} bytes together"))
            }
        }))
    }

    async fn remove(&mut self, id: String) -> wasmtime::Result<bool> {
        let wait_started = self.meter(id.len())?;
        let removed = self.draft().remove_endpoint(&id).await.map_err(trap);
        self.end_wait(wait_started).await;
        removed
    }

    async fn get(&mut self, id: String) -> wasmtime::Result<Option<wit::State>> {
        let wait_started = self.meter(id.len())?;
        let found = self.draft().find_endpoint(&id).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        found.map(|entry| self.state_result(entry)).transpose()
    }

    async fn all(&mut self) -> wasmtime::Result<Vec<wit::State>> {
        let wait_started = self.meter(0)?;
        let found = self.draft().list_endpoints().await.map_err(trap)?;
        self.end_wait(wait_started).await;
        let bytes: usize = found.iter().map(|entry| entry.body.len()).sum();
        self.charge_held(bytes.saturating_mul(ENDPOINT_PARSED_FACTOR))?;
        let parsed = found.into_iter().map(|entry| EndpointEntry::parse(entry).map_err(trap));
        parsed.map(|entry| self.state_result(entry?)).collect()
    }

    async fn secret(&mut self, id: String) -> wasmtime::Result<Option<String>> {
        let wait_started = self.meter(id.len())?;
        let found = self.draft().find_endpoint(&id).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        Ok(found.and_then(|entry| self.secret_text(&id, &entry.endpoint.key)))
    }

    async fn rotate_secret(&mut self, id: String) -> wasmtime::Result<Option<String>> {
        let wait_started = self.meter(id.len())?;
        let mut found = self.draft().find_endpoint(&id).await.map_err(trap)?;
        if let Some(EndpointEntry { endpoint, .. }) = &mut found {
            endpoint.key.number = endpoint.key.number.saturating_add(1);
            endpoint.key.previous_until = Some(self.now().saturating_add(SECRET_OVERLAP_MS));
            self.draft().rotate_endpoint_key(&id, endpoint).await.map_err(trap)?;
        }
        self.end_wait(wait_started).await;
        Ok(found.and_then(|entry| self.secret_text(&id, &entry.endpoint.key)))
    }

    async fn deliveries(
        &mut self,
        endpoint: String,
        state: Option<String>,
        after: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Option<wit::Page>> {
        let wait_started = self.meter(endpoint.len())?;
        let limit = limit.clamp(1, DELIVERIES_LISTED_MAX);
        let state = match state.as_deref().map(|name| DeliveryState::parse(name).ok_or(name)) {
            Some(Err(name)) => wasmtime::bail!("unknown delivery state {name:.40?}"),
            Some(Ok(state)) => Some(state),
            None => None,
        };
        let page = match self.draft().find_deliveries(&endpoint, state, after.as_deref(), limit).await {
            Err(DraftError::BadCursor(_)) => None,
            page => page.map_err(trap)?,
        };
        self.end_wait(wait_started).await;
        let Some(page) = page else { return Ok(None) };
        let deliveries: Vec<wit::Delivery> = page.deliveries.into_iter().map(delivery).collect();
        self.meter_result(deliveries.iter().map(|delivery| delivery.subject.len() + 200).sum())?;
        Ok(Some(wit::Page { deliveries, next: page.next.map(|seq| seq.to_string()) }))
    }

    async fn attempts(&mut self, endpoint: String, event: String) -> wasmtime::Result<Option<Vec<wit::Attempt>>> {
        let wait_started = self.meter(endpoint.len() + event.len())?;
        let found = self.draft().find_attempts(&endpoint, &event).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        let Some(found) = found else { return Ok(None) };
        self.meter_result(found.iter().map(|attempt| attempt.response.len() + 50).sum())?;
        Ok(Some(found.into_iter().map(attempt).collect()))
    }

    async fn redeliver(&mut self, endpoint: String, event: String) -> wasmtime::Result<bool> {
        let wait_started = self.meter(endpoint.len() + event.len())?;
        let ordered = self.draft().redeliver(&endpoint, &event).await.map_err(trap);
        self.end_wait(wait_started).await;
        ordered
    }

    async fn recover(&mut self, endpoint: String, since: u64) -> wasmtime::Result<bool> {
        let wait_started = self.meter(endpoint.len())?;
        let ordered = self.draft().recover(&endpoint, since).await.map_err(trap);
        self.end_wait(wait_started).await;
        ordered
    }

    async fn send_test(
        &mut self,
        endpoint: String,
        event_type: String,
        payload: String,
    ) -> wasmtime::Result<Option<String>> {
        let wait_started = self.meter(endpoint.len() + event_type.len() + payload.len())?;
        let found = self.draft().find_endpoint(&endpoint).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        if found.is_none() {
            return Ok(None);
        }
        self.emit((&event_type, &endpoint), &payload, Some(&endpoint)).map(Some)
    }
}

impl CallState {
    fn state_result(&mut self, entry: EndpointEntry) -> wasmtime::Result<wit::State> {
        let EndpointEntry { id, endpoint, created_at, updated_at } = entry;
        let wire = wit::Endpoint {
            id: id.to_string(),
            url: endpoint.url,
            event_types: endpoint.event_types,
            subjects: endpoint.subjects,
            enabled: endpoint.enabled,
            signatures: endpoint.signatures.into_iter().map(wire_signature).collect(),
            note: endpoint.note.get().to_owned(),
        };
        self.meter_result(size_of(&wire))?;
        let disabled = endpoint.disabled.map(|disabled| disabled.reason);
        Ok(wit::State { endpoint: wire, created_at, updated_at, disabled })
    }
}

fn size_of(endpoint: &wit::Endpoint) -> usize {
    let names = endpoint.event_types.iter().chain(&endpoint.subjects).map(|name| name.len() + 8).sum::<usize>();
    let length =
        |signature: &wit::Signature| signature.header.len() + signature.prefix.len() + signature.key.len() + 32;
    let signatures = endpoint.signatures.iter().map(length);
    endpoint.id.len() + endpoint.url.len() + endpoint.note.len() + names + signatures.sum::<usize>()
}

fn url_refusal(refusal: &UrlError) -> wit::Refusal {
    match refusal {
        UrlError::HttpsRequired => wit::Refusal::HttpsRequired,
        UrlError::Address(_) => wit::Refusal::AddressNotAllowed(refusal.to_string()),
        other => wit::Refusal::NotAUrl(other.to_string()),
    }
}

fn malformed(sentence: String) -> wit::Refusal {
    wit::Refusal::Malformed(sentence)
}

fn signatures(requested: Vec<wit::Signature>) -> Result<Vec<Signature>, wit::Refusal> {
    if requested.len() > ENDPOINT_SIGNATURES_MAX {
        return Err(malformed(format!("an endpoint has at most {ENDPOINT_SIGNATURES_MAX} signatures")));
    }
    requested.into_iter().map(signature).collect()
}

fn signature(requested: wit::Signature) -> Result<Signature, wit::Refusal> {
    let algorithm = match requested.algorithm.as_str() {
        "hmac-sha256" => Algorithm::HmacSha256,
        "hmac-sha512" => Algorithm::HmacSha512,
        other => return Err(malformed(format!("unknown signature algorithm {other:.40?}"))),
    };
    let key = SignatureKey::try_from(requested.key).map_err(malformed)?;
    let is_valid = http::HeaderName::from_bytes(requested.header.as_bytes()).is_ok()
        && http::HeaderValue::from_str(&requested.prefix).is_ok()
        && requested.header.len() <= 64
        && requested.prefix.len() <= 64;
    if !is_valid {
        return Err(malformed(format!("{:.80?} is not a valid header for a signature", requested.header)));
    }
    Ok(Signature { header: requested.header.to_ascii_lowercase(), prefix: requested.prefix, algorithm, key })
}

fn wire_signature(signature: Signature) -> wit::Signature {
    let algorithm = match signature.algorithm {
        Algorithm::HmacSha256 => "hmac-sha256",
        Algorithm::HmacSha512 => "hmac-sha512",
    };
    wit::Signature {
        header: signature.header,
        prefix: signature.prefix,
        algorithm: algorithm.to_owned(),
        key: signature.key.into(),
    }
}

fn note(text: String) -> Result<Box<serde_json::value::RawValue>, wit::Refusal> {
    if text.len() > ENDPOINT_NOTE_BYTES_MAX {
        return Err(malformed(format!("the note of an endpoint has at most {ENDPOINT_NOTE_BYTES_MAX} bytes")));
    }
    serde_json::value::RawValue::from_string(text).map_err(|error| malformed(format!("the note is not JSON: {error}")))
}

fn delivery(stored: StoredDelivery) -> wit::Delivery {
    wit::Delivery {
        event: stored.event.to_string(),
        event_type: stored.event_type.to_string(),
        subject: stored.subject.to_string(),
        state: stored.state.name().to_owned(),
        attempts: stored.attempts,
        created_at: stored.created_at,
        next_at: stored.next_at,
    }
}

fn attempt(stored: StoredAttempt) -> wit::Attempt {
    wit::Attempt {
        number: stored.number,
        at: stored.at,
        duration: u32::try_from(stored.duration_ms).unwrap_or(u32::MAX),
        outcome: stored.outcome,
        status: stored.status,
        answer: String::from_utf8_lossy(&stored.response).into_owned(),
    }
}
