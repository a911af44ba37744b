//! Consistency of the data folder at start: evidence that a host used it before, and missing files.
//!
//! These checks change nothing. A missing file that cannot be recreated stops the start. Missing components are logged.

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

/// Returns a component that was published from this folder, if there is one. The database of that time referred to it.
pub fn find_trace_of_database(data_dir: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(component_folder(data_dir)).ok()?;
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "wasm")).min()
}

/// Returns the path of the master key file if this start would create it. A new key cannot unseal existing secrets.
pub fn find_missing_key(config: &Config) -> Option<PathBuf> {
    let file = config.data_dir.join(MASTER_KEY_FILE);
    let is_created = config.master_key.is_none() && config.environment == Environment::Development && !file.exists();
    is_created.then_some(file)
}

/// Returns the variable or file that holds the master key.
pub fn master_key_source(config: &Config) -> String {
    match config.master_key {
        Some(_) => "TENON_MASTER_KEY".to_owned(),
        None => config.data_dir.join(MASTER_KEY_FILE).display().to_string(),
    }
}

/// Logs each component that a restart or a rollback needs and that is missing in the folder. The host serves already,
/// so a database error is only logged.
pub async fn report_lost_components(config: &Config, database: &Database) {
    let needed = match database.list_needed_components().await {
        Ok(needed) => needed,
        Err(error) => {
            tracing::error!(%error, "failed to check the data folder for missing components");
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
                "a published component is missing: a restart or a rollback cannot load it; deploy it again, or restore a backup \
                 (`{restore}`)"
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
