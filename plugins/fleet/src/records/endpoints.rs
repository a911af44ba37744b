//! Endpoints of webhooks: kept by the host; here is how they look to callers.

use serde::{Deserialize, Serialize};
use tenon_plugin::subscriptions::{Endpoint, EndpointState, Signature, SubscriptionRefusal};
use tenon_plugin::{Call, Stop, json, time};

use super::common::{DRAWS_MAX, is_public_id};
use crate::api::errors;
use crate::rules::invalid::Invalid;
use crate::rules::webhook::{Status, Subscription, VERSION};

/// An endpoint as it stands.
pub struct StoredEndpoint {
    pub id: String,
    pub subscription: Subscription,
    /// Why it was disabled, where nobody of the organization did it.
    pub disabled_reason: Option<String>,
    pub created_at: u64,
    pub updated_at: u64,
}

/// What the host keeps for us beside what it understands.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Note {
    description: Option<String>,
    disabled_reason: Option<String>,
}

pub fn load_endpoint(call: &Call, id: &str) -> Result<StoredEndpoint, Stop> {
    let found = is_public_id("webhook", id).then(|| call.subscriptions().get(id)).flatten();
    stored(found.ok_or_else(errors::not_found)?)
}

/// The newest first.
pub fn list_endpoints(call: &Call) -> Result<Vec<StoredEndpoint>, Stop> {
    let mut all: Vec<StoredEndpoint> = call.subscriptions().all().into_iter().map(stored).collect::<Result<_, _>>()?;
    all.sort_by(|one, other| (other.created_at, &other.id).cmp(&(one.created_at, &one.id)));
    Ok(all)
}

pub fn insert_endpoint(call: &Call, subscription: &Subscription) -> Result<StoredEndpoint, Stop> {
    for _ in 0..DRAWS_MAX {
        let id = call.public_id("webhook");
        if call.subscriptions().get(&id).is_none() {
            return put_endpoint(call, &id, subscription, None);
        }
    }
    Err(Stop::fault("no free webhook id was drawn"))
}

/// `disabled_reason`: kept until it is enabled again.
pub fn put_endpoint(
    call: &Call,
    id: &str,
    subscription: &Subscription,
    disabled_reason: Option<String>,
) -> Result<StoredEndpoint, Stop> {
    let disabled_reason = disabled_reason.filter(|_| subscription.status == Status::Disabled);
    let note = Note { description: subscription.description.clone(), disabled_reason };
    let endpoint = Endpoint {
        id: id.to_owned(),
        url: subscription.url.clone(),
        event_types: subscription.events.clone(),
        subjects: Vec::new(),
        enabled: subscription.status == Status::Enabled,
        signatures: vec![signature("signature", ""), signature("x-fleetbase-signature", "sha256=")],
        note: json::to_text(&note)?,
    };
    call.subscriptions().put(&endpoint).map_err(refused)?;
    load_endpoint(call, id)
}

/// Two headers that receivers of this interface look for (research/fleet 6.2).
fn signature(header: &str, prefix: &str) -> Signature {
    Signature {
        header: header.to_owned(),
        prefix: prefix.to_owned(),
        algorithm: "hmac-sha256".to_owned(),
        key: "endpoint".to_owned(),
    }
}

fn refused(refusal: SubscriptionRefusal) -> Stop {
    match refusal {
        SubscriptionRefusal::NotAUrl(why) | SubscriptionRefusal::AddressNotAllowed(why) => {
            Invalid::NotAccepted { field: "url", why }.into()
        }
        SubscriptionRefusal::HttpsRequired => Invalid::Not { field: "url", kind: "an address with https://" }.into(),
        SubscriptionRefusal::TooMany(most) => Invalid::TooMany { what: "webhook endpoints", most }.into(),
        other => other.into(),
    }
}

fn stored(state: EndpointState) -> Result<StoredEndpoint, Stop> {
    let EndpointState { endpoint, created_at, updated_at, disabled } = state;
    let note: Note = json::from_text(&endpoint.note)?;
    let status = if endpoint.enabled && disabled.is_none() { Status::Enabled } else { Status::Disabled };
    let subscription =
        Subscription { url: endpoint.url, description: note.description, events: endpoint.event_types, status };
    let disabled_reason = disabled.or(note.disabled_reason);
    Ok(StoredEndpoint { id: endpoint.id, subscription, disabled_reason, created_at, updated_at })
}

#[derive(Serialize)]
struct EndpointText<'a> {
    id: &'a str,
    url: &'a str,
    description: Option<&'a str>,
    events: &'a [String],
    is_listening_on_all_events: bool,
    status: &'a str,
    disabled_reason: Option<&'a str>,
    mode: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
    updated_at: String,
    created_at: String,
}

/// `secret`: only where it is new.
pub fn endpoint_text(call: &Call, endpoint: &StoredEndpoint, secret: Option<&str>) -> Result<String, Stop> {
    let subscription = &endpoint.subscription;
    json::to_text(&EndpointText {
        id: &endpoint.id,
        url: &subscription.url,
        description: subscription.description.as_deref(),
        events: &subscription.events,
        is_listening_on_all_events: subscription.events.is_empty(),
        status: subscription.status.name(),
        disabled_reason: endpoint.disabled_reason.as_deref(),
        mode: &call.principal().environment,
        version: VERSION,
        secret,
        updated_at: time::to_text(endpoint.updated_at),
        created_at: time::to_text(endpoint.created_at),
    })
}
