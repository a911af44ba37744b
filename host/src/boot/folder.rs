//! The data folder at start: what shows that a host with a database used it, and what of it is lost.
//!
//! Changes nothing. What is lost and cannot be made again stops the start; what a host can serve without is logged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    config::{Config, Environment},
    db::{Database, files::restore_command},
    secrets::MASTER_KEY_FILE,
};

const COMPONENTS_FOLDER: &str = "components";

/// A component that was published from this folder. It was noted in the database of that time.
pub fn find_published(data_dir: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(component_folder(data_dir)).ok()?;
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "wasm")).min()
}

/// Returns the file of the master key if the start makes one there, which would open nothing that was sealed before.
pub fn find_missing_key(config: &Config) -> Option<PathBuf> {
    let file = config.data_dir.join(MASTER_KEY_FILE);
    let is_made = config.master_key.is_none() && config.environment == Environment::Development && !file.exists();
    is_made.then_some(file)
}

/// Returns the variable or file that holds the master key.
pub fn master_key_source(config: &Config) -> String {
    match config.master_key {
        Some(_) => "TENON_MASTER_KEY".to_owned(),
        None => config.data_dir.join(MASTER_KEY_FILE).display().to_string(),
    }
}

/// Logs each component that is needed for a restart or a rollback and is not in the folder any more. The host serves
/// already, so a database that does not answer is logged as well.
pub async fn report_lost_components(config: &Config, database: &Database) {
    let needed = match database.list_needed_components().await {
        Ok(needed) => needed,
        Err(error) => {
            tracing::error!(%error, "the data folder was not searched for lost components: the database does not list them");
            return;
        }
    };
    for (plugin, hash) in needed.into_iter().filter(|(plugin, _)| config.plugins.contains_key(plugin.as_str())) {
        let path = component_path(&config.data_dir, &hash);
        if !path.exists() {
            let restore = restore_command(database.path());
            tracing::error!(
                plugin,
                file = %path.display(),
                "a published component is missing: it cannot be started again, or rolled back to; deploy it again, or restore a \
                 backup (`{restore}`)"
            );
        }
    }
}

pub fn component_folder(data_dir: &Path) -> PathBuf {
    data_dir.join(COMPONENTS_FOLDER)
}

pub fn component_path(data_dir: &Path, hash: &str) -> PathBuf {
    component_folder(data_dir).join(format!("{hash}.wasm"))
}
