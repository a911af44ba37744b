//! From a name to a server: what the operator has named, else what the tenant has.

use std::sync::Arc;

use super::{CallFailure, Neighbour, Parts};
use crate::outbound::OutboundConfig;
use crate::{
    changes::{destination::Destination, scope::Scope},
    config::DestinationKind,
    outbound::{AddressRule, Login, Scheme},
};

pub(super) enum Meant {
    Outbox,
    Server(Server),
    /// A plugin of this host.
    Plugin(Neighbour),
}

pub(super) struct Server {
    /// `None`: the operator's, the same one for all tenants.
    pub tenant: Option<Arc<str>>,
    pub base_url: String,
    pub login: Login,
    /// What the operator lets one attempt take.
    pub timeout_ms: Option<u64>,
    /// Where it, and what gives tokens for it, may be.
    pub rule: AddressRule,
    pub scheme: Scheme,
}

pub(super) async fn find(parts: &Parts, scope: &Scope, name: &str) -> Result<Meant, CallFailure> {
    let named = (parts.named)(scope.plugin(), name).filter(|named| named.is_named_for(scope.tenant()));
    let Some(named) = named else { return find_of_tenant(parts, scope, name).await };
    if !named.is_for(scope.tenant()) {
        return Err(unknown(name));
    }
    Ok(match &named.kind {
        DestinationKind::Outbox => Meant::Outbox,
        DestinationKind::Plugin { name, organization } => {
            let tenant = acted_for(organization.as_deref(), scope.tenant());
            Meant::Plugin(Neighbour { plugin: name.clone(), tenant })
        }
        // That a live tenant's is https was looked at when the configuration was read.
        DestinationKind::Server { base_url, login } => Meant::Server(Server {
            tenant: None,
            base_url: base_url.clone(),
            login: login.clone(),
            timeout_ms: named.timeout_ms,
            rule: AddressRule::everywhere(),
            scheme: Scheme::HttpToo,
        }),
    })
}

/// Another organization, never another environment.
fn acted_for(organization: Option<&str>, caller: &Arc<str>) -> Arc<str> {
    match (organization, caller.rsplit_once('/')) {
        (Some(organization), Some((_, environment))) => format!("{organization}/{environment}").into(),
        _ => caller.clone(),
    }
}

async fn find_of_tenant(parts: &Parts, scope: &Scope, name: &str) -> Result<Meant, CallFailure> {
    let found = parts.database.find_destination(scope, name).await;
    let found = found.map_err(|error| CallFailure::not_sent("unavailable", error.to_string()))?;
    let body = found.ok_or_else(|| unknown(name))?;
    let unusable = |why: &dyn std::fmt::Display| {
        tracing::error!(
            plugin = &**scope.plugin(),
            tenant = &**scope.tenant(),
            name,
            "a destination is unusable: {why}"
        );
        CallFailure::not_sent("unusable", format!("the destination {name:.80?} is unusable: {why}"))
    };
    // Its words may quote what is in the record.
    let stored = Destination::parse(&body).map_err(|_| unusable(&"its record cannot be read"))?;
    let login = stored.login((scope, name), &parts.outside.sealing).map_err(|error| unusable(&error))?;
    Ok(Meant::Server(Server {
        tenant: Some(scope.tenant().clone()),
        base_url: stored.base_url,
        login,
        timeout_ms: None,
        rule: parts.outside.addresses.rule(scope.tenant()).clone(),
        scheme: OutboundConfig::scheme(scope.tenant()),
    }))
}

fn unknown(name: &str) -> CallFailure {
    CallFailure::not_sent("no-such-destination", format!("there is no destination {name:.80?} for this tenant"))
}
