//! What only development has: a demo key that opens all plugins and signs, the same at every start.

use std::path::PathBuf;

use crate::clock::Timestamp;
use crate::{
    auth::{Environment, Keys, keys::NewKey},
    config::Config,
    secrets::private_file,
};

/// The organization that the demo key acts for.
const DEMO_ORGANIZATION: &str = "demo";
const DEMO_FILE: &str = "demo.key";

/// The demo key and its file; `None` in production. A file whose key the database does not know (a new database beside
/// an old file) is replaced.
pub async fn demo_key(config: &Config, keys: &Keys, now: Timestamp) -> anyhow::Result<Option<(String, PathBuf)>> {
    if !super::is_development(config) {
        return Ok(None);
    }
    let file = config.data_dir.join(DEMO_FILE);
    if let Some(text) = private_file::read(&file)?
        && keys.opens(text.trim(), "*", now).await
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
