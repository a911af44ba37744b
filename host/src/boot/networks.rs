//! Opens and closes the blockchain networks of the host.

use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt, path::Path, sync::Arc};

use anyhow::Context;
use tenon_chains::{
    Chain,
    simulated::{Network, Options, Simulated},
};

use super::as_function;
use crate::{
    chains::{Chains, NetworkKind},
    clock::Clock,
    config::{Config, Environment},
    db::{
        Database,
        files::{Survey, survey_chains},
    },
};

/// File of the simulated networks in the data folder.
pub(super) const CHAINS_FILE: &str = "chains.db";

/// Opens all networks. Also returns the simulated networks, which operators control, or `None` if they are disabled.
pub async fn open(
    config: &Config,
    database: &Database,
    clock: &Clock,
) -> anyhow::Result<(Chains, Option<Arc<Simulated>>)> {
    if !config.chains.simulated {
        return Ok((Chains::default(), None));
    }
    let file = config.data_dir.join(CHAINS_FILE);
    let block_time_ms = u32::try_from(config.chains.block_ms).unwrap_or(u32::MAX);
    // A faucet on the main network creates funds of value, so it exists only in development.
    let options = Options { block_time_ms, has_main_faucet: config.environment == Environment::Development };
    let named = || file.display().to_string();
    let found = survey_chains(&file)?;
    create_private(&file).with_context(named)?;
    let simulated = Arc::new(Simulated::open(&file, &options, as_function(clock)).await.with_context(named)?);
    let networks = simulated.chains().map(|(network, chain)| {
        let chain: Arc<dyn Chain> = chain.clone();
        (side_of(network), chain)
    });
    let chains = Chains::new(networks);
    if matches!(found, Survey::Nothing { .. }) && has_activity(database, &chains).await? {
        tracing::error!(
            file = %file.display(),
            "the file of the simulated blockchains is missing, so they start empty, but the database refers to balances and \
             transactions of the lost ones: stop the host and restore the file"
        );
    }
    Ok((chains, Some(simulated)))
}

/// Returns true if the database shows that one of these networks was used.
async fn has_activity(database: &Database, chains: &Chains) -> anyhow::Result<bool> {
    for (_, chain) in chains.all() {
        let facts = chain.facts();
        if database.find_chain_cursor(&format!("{}/{}", facts.network, facts.blockchain)).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(!database.list_chain_notes().await?.is_empty())
}

/// Closes the simulated networks. Accepted transactions are durable already. Closing checkpoints the write-ahead log.
pub async fn close(simulated: Option<&Simulated>) {
    let Some(simulated) = simulated else { return };
    if let Err(error) = simulated.close().await {
        tracing::warn!("failed to close the simulated blockchains; no data is lost: {error}");
    }
}

/// Creates the file with mode 0600. SQLite would create it with default permissions.
fn create_private(file: &Path) -> std::io::Result<()> {
    let created = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(file);
    created.map(drop)
}

fn side_of(network: Network) -> NetworkKind {
    match network {
        Network::Test => NetworkKind::Test,
        Network::Main => NetworkKind::Main,
    }
}
