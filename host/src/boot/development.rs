//! The demo key of development. It grants access to all plugins, signs webhooks, and stays the same across restarts.

use std::path::PathBuf;

use crate::{
    auth::{Environment, Keys, keys::NewKey},
    clock::Timestamp,
    config::Config,
    secrets::private_file,
};

/// The organization that the demo key acts for.
const DEMO_ORGANIZATION: &str = "demo";
const DEMO_FILE: &str = "demo.key";

/// Returns the demo key and its file, or `None` in production. If there is no file, or if its key is not valid (a new
/// database beside an old file), creates a key and writes it to the file.
pub async fn demo_key(config: &Config, keys: &Keys, now: Timestamp) -> anyhow::Result<Option<(String, PathBuf)>> {
    if !super::is_development(config) {
        return Ok(None);
    }
    let file = config.data_dir.join(DEMO_FILE);
    if let Some(text) = private_file::read(&file)?
        && keys.is_valid(text.trim(), "*", now).await
    {
        return Ok(Some((text.trim().to_owned(), file)));
    }
    let new = NewKey {
        plugin: "*".to_owned(),
        organization: DEMO_ORGANIZATION.to_owned(),
        environment: Environment::Test,
        scopes: Vec::new(),
        attributes: Vec::new(),
        owner: None,
        expires_at: None,
        signs: true,
        operator: None,
    };
    let created = keys.create(new, now).await?;
    private_file::create(&file, &format!("{}\n", created.text.as_str()))?;
    Ok(Some((created.text.to_string(), file)))
}
