//! Whose data: the plugin and the tenant. Every key and every question to the database carries a `Scope`, and only
//! this file makes one, so that two tenants can never meet through a forgotten condition.

use std::sync::Arc;

/// One plugin's data of one tenant. `tenant` is the organization and the environment: "acme/test".
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    plugin: Arc<str>,
    tenant: Arc<str>,
}

impl Scope {
    /// `None` for an anonymous principal: it has no tenant, hence no data at all.
    pub fn new(plugin: Arc<str>, tenant: Arc<str>) -> Option<Scope> {
        if tenant.is_empty() { None } else { Some(Scope { plugin, tenant }) }
    }

    pub fn plugin(&self) -> &Arc<str> {
        &self.plugin
    }

    pub fn tenant(&self) -> &Arc<str> {
        &self.tenant
    }

    /// The organization of the tenant, without its environment.
    pub fn organization(&self) -> &str {
        self.tenant.rsplit_once('/').map_or(&*self.tenant, |(organization, _)| organization)
    }
}
