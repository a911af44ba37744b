//! Collects the content of the banner, which `tenon serve` prints once every plugin serves or was refused.

use super::Host;
use crate::{
    admin::health::storage_reasons,
    cli::banner::{self, FirstAccess},
};

impl Host {
    /// Renders the banner.
    pub(super) async fn describe(&self) -> String {
        let config = &self.subsystems.config;
        let status = self.subsystems.reloader.status().await;
        let plugins = status.iter().map(|plugin| {
            let state = match &plugin.serving {
                Some(serving) => Ok(&*serving.version.version),
                None => Err(plugin.reasons.first().map_or("it was never published", String::as_str)),
            };
            (&*plugin.name, state)
        });
        let serving = status.iter().filter(|plugin| plugin.serving.is_some());
        let examples =
            serving.filter_map(|plugin| config.plugins.get(&plugin.name)).flat_map(|plugin| &plugin.examples);
        let has_credentials = self.has_credentials().await;
        let table = self.subsystems.registry.current();
        let first_access = table.mounted().iter().filter(|_| !has_credentials).find_map(|mounted| {
            let (accepts, plugin) = (&mounted.manifest.authentication, &*mounted.plugin);
            match () {
                () if accepts.api_keys => Some(FirstAccess::Key(plugin)),
                () if !accepts.oauth => None,
                () if self.subsystems.oauth.issuer().is_none() => Some(FirstAccess::NoIssuer(plugin)),
                () => Some(FirstAccess::Client(plugin)),
            }
        });
        banner::render(&banner::Banner {
            scheme: if config.http.tls.is_some() { "https" } else { "http" },
            interfaces: self.addresses.0,
            operators: self.addresses.1,
            data_dir: &config.data_dir,
            demo_key: self.demo_key.as_ref().map(|(key, file)| (key.as_str(), file.as_path())),
            first_access,
            plugins: plugins.collect(),
            missing: storage_reasons(&self.subsystems.committer, &self.subsystems.database, &self.maintenance.disk()),
            examples: examples.map(String::as_str).collect(),
        })
    }

    /// Returns true if a key, a client or an external issuer exists, or if the keys cannot be read.
    async fn has_credentials(&self) -> bool {
        let has_keys = self.subsystems.keys.list().await.map_or(true, |keys| !keys.is_empty());
        has_keys || !self.subsystems.oauth.clients().is_empty() || !self.subsystems.config.oauth.issuers.is_empty()
    }
}
