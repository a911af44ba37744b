//! The plugin and the tenant that data belongs to. Every key and every query of a call carries a `Scope`, and only
//! `Scope::new` constructs one, so that a forgotten condition can never expose the data of another tenant.

use std::sync::Arc;

/// The data of one plugin and one tenant. `tenant` is the organization and the environment: "acme/test".
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    plugin: Arc<str>,
    tenant: Arc<str>,
}

impl Scope {
    /// Creates a scope. Returns `None` for an anonymous principal, which has no tenant and therefore no data.
    pub fn new(plugin: Arc<str>, tenant: Arc<str>) -> Option<Scope> {
        if tenant.is_empty() { None } else { Some(Scope { plugin, tenant }) }
    }

    pub fn plugin(&self) -> &Arc<str> {
        &self.plugin
    }

    pub fn tenant(&self) -> &Arc<str> {
        &self.tenant
    }

    /// Returns the organization of the tenant, without its environment.
    pub fn organization(&self) -> &str {
        self.tenant.rsplit_once('/').map_or(&*self.tenant, |(organization, _)| organization)
    }
}
