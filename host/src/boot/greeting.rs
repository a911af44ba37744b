//! What `tenon serve` prints when everything runs.

use super::Host;
use crate::cli::banner;

impl Host {
    /// What a person at the terminal wants to know first.
    pub(super) async fn describe(&self) -> String {
        let config = &self.rooms.config;
        let status = self.rooms.reloader.status().await;
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
        // Where it is not known, nobody is told to make a first one.
        let has_keys = self.rooms.keys.list().await.map_or(true, |keys| !keys.is_empty());
        banner::render(&banner::Banner {
            scheme: if config.http.tls.is_some() { "https" } else { "http" },
            interfaces: self.addresses.0,
            operators: self.addresses.1,
            data_dir: &config.data_dir,
            demo_key: self.demo_key.as_ref().map(|(key, file)| (key.as_str(), file.as_path())),
            first_key_for: config.plugins.keys().next().filter(|_| !has_keys).map(|plugin| &**plugin),
            plugins: plugins.collect(),
            examples: examples.map(String::as_str).collect(),
        })
    }
}
