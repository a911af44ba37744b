//! TLS of the listener of the interfaces, and the clients of outgoing connections with their trusted roots.

use std::sync::Arc;

use anyhow::Context;

use crate::{
    config::Config,
    http::tls::Tls,
    outbound::{Client, Roots, SystemResolver},
};

/// Loads the certificate of the listener. Returns `None` if it serves plain HTTP.
pub fn load_tls(config: &Config) -> anyhow::Result<Option<Arc<Tls>>> {
    let Some(files) = &config.http.tls else { return Ok(None) };
    Ok(Some(Arc::new(Tls::load(files)?)))
}

/// Creates the client of the host and of destinations, and the client of webhooks. They share a resolver and its limit
/// of concurrent lookups.
pub fn new_clients(config: &Config) -> anyhow::Result<(Arc<Client>, Arc<Client>)> {
    let resolver = Arc::new(SystemResolver::new());
    let new_client = || -> anyhow::Result<Arc<Client>> {
        let mut roots = Roots::built_in();
        config.outbound.roots.iter().try_for_each(|file| roots.add_file(file)).context("[outbound] roots")?;
        Ok(Arc::new(Client::new(roots, resolver.clone())?))
    };
    Ok((new_client()?, new_client()?))
}
