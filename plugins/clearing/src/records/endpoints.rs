//! Endpoints of webhooks: kept by the host; here is how they look to callers.

use serde::{Deserialize, Serialize};
use tenon_plugin::subscriptions::{Endpoint, EndpointState, SubscriptionRefusal};
use tenon_plugin::{Call, Stop, json, time};

use super::DRAWS_MAX;
use crate::words;

/// What the host keeps for us beside what it understands.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Note {
    description: Option<String>,
}

/// An endpoint as it stands.
pub struct StoredEndpoint {
    pub id: String,
    pub url: String,
    pub description: Option<String>,
    /// Empty: all.
    pub events: Vec<String>,
    pub enabled: bool,
    /// Why the host has disabled it.
    pub disabled_reason: Option<String>,
    pub created_at: u64,
    pub updated_at: u64,
}

pub fn load_endpoint(call: &Call, id: &str) -> Result<StoredEndpoint, Stop> {
    let suffix = id.strip_prefix("webhook_").unwrap_or_default();
    let is_id = suffix.len() == 10 && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let found = is_id.then(|| call.subscriptions().get(id)).flatten();
    stored(found.ok_or_else(words::not_found)?)
}

/// The newest first.
pub fn list_endpoints(call: &Call) -> Result<Vec<StoredEndpoint>, Stop> {
    let mut all: Vec<StoredEndpoint> = call.subscriptions().all().into_iter().map(stored).collect::<Result<_, _>>()?;
    all.sort_by(|one, other| (other.created_at, &other.id).cmp(&(one.created_at, &one.id)));
    Ok(all)
}

/// Draws its id: that of `endpoint` is not looked at.
pub fn insert_endpoint(call: &Call, endpoint: StoredEndpoint) -> Result<StoredEndpoint, Stop> {
    for _ in 0..DRAWS_MAX {
        let id = call.public_id("webhook");
        if call.subscriptions().get(&id).is_none() {
            return put_endpoint(call, StoredEndpoint { id, ..endpoint });
        }
    }
    Err(Stop::fault("no free webhook id was drawn"))
}

/// What the host had disabled is tried again.
pub fn put_endpoint(call: &Call, endpoint: StoredEndpoint) -> Result<StoredEndpoint, Stop> {
    let StoredEndpoint { id, url, description, events, enabled, .. } = endpoint;
    let note = json::to_text(&Note { description })?;
    let (event_types, subjects, signatures) = (events, Vec::new(), Vec::new());
    let endpoint = Endpoint { id: id.clone(), url, event_types, subjects, enabled, signatures, note };
    call.subscriptions().put(&endpoint).map_err(refused)?;
    load_endpoint(call, &id)
}

fn refused(refusal: SubscriptionRefusal) -> Stop {
    match refusal {
        SubscriptionRefusal::NotAUrl(why) | SubscriptionRefusal::AddressNotAllowed(why) => {
            words::wrong("url", &["is not accepted: ", &why].concat())
        }
        SubscriptionRefusal::HttpsRequired => words::wrong("url", "must be an address with https://"),
        SubscriptionRefusal::TooMany(most) => {
            words::wrong("url", &["is one too many: there are ", &most.to_string(), " endpoints"].concat())
        }
        other => other.into(),
    }
}

fn stored(state: EndpointState) -> Result<StoredEndpoint, Stop> {
    let EndpointState { endpoint, created_at, updated_at, disabled } = state;
    let note: Note = json::from_text(&endpoint.note)?;
    Ok(StoredEndpoint {
        id: endpoint.id,
        url: endpoint.url,
        description: note.description,
        events: endpoint.event_types,
        enabled: endpoint.enabled && disabled.is_none(),
        disabled_reason: disabled,
        created_at,
        updated_at,
    })
}

#[derive(Serialize)]
struct EndpointText<'a> {
    id: &'a str,
    url: &'a str,
    description: Option<&'a str>,
    events: &'a [String],
    status: &'a str,
    disabled_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
    created_at: String,
    updated_at: String,
}

/// `secret`: only where it is new.
pub fn endpoint_text(endpoint: &StoredEndpoint, secret: Option<&str>) -> Result<String, Stop> {
    json::to_text(&EndpointText {
        id: &endpoint.id,
        url: &endpoint.url,
        description: endpoint.description.as_deref(),
        events: &endpoint.events,
        status: if endpoint.enabled { "enabled" } else { "disabled" },
        disabled_reason: endpoint.disabled_reason.as_deref(),
        secret,
        created_at: time::to_text(endpoint.created_at),
        updated_at: time::to_text(endpoint.updated_at),
    })
}
