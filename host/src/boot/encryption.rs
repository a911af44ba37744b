//! What is encrypted: the listener of the interfaces, and calls to the outside with whom they believe.

use std::sync::Arc;

use anyhow::Context;

use crate::{
    config::Config,
    http::tls::Tls,
    outbound::{Client, Roots, SystemResolver},
};

/// `None`: plain HTTP.
pub fn load_tls(config: &Config) -> anyhow::Result<Option<Arc<Tls>>> {
    let Some(files) = &config.http.tls else { return Ok(None) };
    Ok(Some(Arc::new(Tls::load(files)?)))
}

/// The client of the host and of destinations, and that of webhooks. They share a resolver, and thus the limit of lookups.
pub fn new_clients(config: &Config) -> anyhow::Result<(Arc<Client>, Arc<Client>)> {
    let resolver = Arc::new(SystemResolver::new());
    let new_client = || -> anyhow::Result<Arc<Client>> {
        let mut roots = Roots::built_in();
        config.outbound.roots.iter().try_for_each(|file| roots.add_file(file)).context("[outbound] roots")?;
        Ok(Arc::new(Client::new(roots, resolver.clone())?))
    };
    Ok((new_client()?, new_client()?))
}
