//! Resolves a destination name: first among the operator's destinations, then among the tenant's.

use std::sync::Arc;

use super::{DestinationCallError, Parts, PluginTarget};
use crate::outbound::OutboundConfig;
use crate::{
    changes::{destination::Destination, scope::Scope},
    config::DestinationKind,
    outbound::{AddressRule, Login, Scheme},
};

pub(super) enum Resolved {
    Outbox,
    Server(Server),
    /// A plugin of this host.
    Plugin(PluginTarget),
}

pub(super) struct Server {
    /// `None` for a destination of the operator, which all tenants share.
    pub tenant: Option<Arc<str>>,
    pub base_url: String,
    pub login: Login,
    /// The operator's time limit for one attempt.
    pub timeout_ms: Option<u64>,
    /// Allowed addresses of the server and of its token endpoint.
    pub rule: AddressRule,
    pub scheme: Scheme,
}

pub(super) async fn resolve(parts: &Parts, scope: &Scope, name: &str) -> Result<Resolved, DestinationCallError> {
    let configured = (parts.operator_destinations)(scope.plugin(), name);
    let configured = configured.filter(|destination| destination.is_named_for(scope.tenant()));
    let Some(configured) = configured else { return find_of_tenant(parts, scope, name).await };
    if !configured.is_for(scope.tenant()) {
        return Err(unknown(name));
    }
    Ok(match &configured.kind {
        DestinationKind::Outbox => Resolved::Outbox,
        DestinationKind::Plugin { name, organization } => {
            let tenant = target_tenant(organization.as_deref(), scope.tenant());
            Resolved::Plugin(PluginTarget { plugin: name.clone(), tenant })
        }
        // The configuration was checked: a destination for live tenants uses HTTPS, unless it is on this machine or the
        // operator permits plain HTTP.
        DestinationKind::Server { base_url, login } => Resolved::Server(Server {
            tenant: None,
            base_url: base_url.clone(),
            login: login.clone(),
            timeout_ms: configured.timeout_ms,
            rule: AddressRule::everywhere(),
            scheme: Scheme::HttpOrHttps,
        }),
    })
}

/// Returns the tenant that a plugin is called for. The organization may differ from the caller's. The environment is
/// always the caller's.
fn target_tenant(organization: Option<&str>, caller: &Arc<str>) -> Arc<str> {
    match (organization, caller.rsplit_once('/')) {
        (Some(organization), Some((_, environment))) => format!("{organization}/{environment}").into(),
        _ => caller.clone(),
    }
}

async fn find_of_tenant(parts: &Parts, scope: &Scope, name: &str) -> Result<Resolved, DestinationCallError> {
    let found = parts.database.find_destination(scope, name).await;
    let found = found.map_err(|error| DestinationCallError::not_sent("unavailable", error.to_string()))?;
    let body = found.ok_or_else(|| unknown(name))?;
    let unusable = |why: &dyn std::fmt::Display| {
        tracing::error!(
            plugin = &**scope.plugin(),
            tenant = &**scope.tenant(),
            name,
            "a destination is unusable: {why}"
        );
        DestinationCallError::not_sent("unusable", format!("the destination {name:.80?} is unusable: {why}"))
    };
    // The parser's message is not used: it may quote the record.
    let stored = Destination::parse(&body).map_err(|_| unusable(&"its record cannot be read"))?;
    let login = stored.login((scope, name), &parts.outbound_context.sealing).map_err(|error| unusable(&error))?;
    Ok(Resolved::Server(Server {
        tenant: Some(scope.tenant().clone()),
        base_url: stored.base_url,
        login,
        timeout_ms: None,
        rule: parts.outbound_context.addresses.rule(scope.tenant()).clone(),
        scheme: OutboundConfig::scheme(scope.tenant()),
    }))
}

fn unknown(name: &str) -> DestinationCallError {
    DestinationCallError::not_sent(
        "no-such-destination",
        format!("there is no destination {name:.80?} for this tenant"),
    )
}
