//! The networks of blockchains that this host has, opened and closed.

use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt, path::Path, sync::Arc};

use anyhow::Context;
use tenon_chains::{
    Chain,
    simulated::{Network, Options, Simulated},
};

use super::as_function;
use crate::{
    chains::{Chains, Side},
    clock::Clock,
    config::{Config, Environment},
    db::{
        Database,
        files::{Survey, survey_chains},
    },
};

/// Of the simulated ones, in the data folder.
pub(super) const CHAINS_FILE: &str = "chains.db";

/// All networks, and those of them that operators control: `None` where there are none.
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
    // Coins that are worth something come from nowhere in development alone.
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
            "the file of the simulated blockchains is missing, so they begin empty; the database holds balances and transactions of \
             the lost ones: stop the host and restore the file"
        );
    }
    Ok((chains, Some(simulated)))
}

/// Whether the database shows that one of these networks was used.
async fn has_activity(database: &Database, chains: &Chains) -> anyhow::Result<bool> {
    for (_, chain) in chains.all() {
        let facts = chain.facts();
        if database.find_chain_cursor(&format!("{}/{}", facts.network, facts.blockchain)).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(!database.list_chain_notes().await?.is_empty())
}

/// What was taken is in the file already; the log is folded into it.
pub async fn close(simulated: Option<&Simulated>) {
    let Some(simulated) = simulated else { return };
    if let Err(error) = simulated.close().await {
        tracing::warn!("the simulated blockchains were not closed in order, which harms nothing: {error}");
    }
}

/// Before SQLite would make it for everybody to read.
fn create_private(file: &Path) -> std::io::Result<()> {
    let made = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(file);
    made.map(drop)
}

fn side_of(network: Network) -> Side {
    match network {
        Network::Test => Side::Test,
        Network::Main => Side::Main,
    }
}
