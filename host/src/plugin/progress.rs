//! Progress of loading the plugins after a start, for `/readyz` and the log.

use std::sync::Arc;

use super::{
    compiling::Compiling,
    reload::{PluginState, PluginStatus, Reloader},
};

/// Returns the reasons why the host is not ready: one for each plugin that does not serve. `compiling` lists plugins in
/// the order in which their compilations began.
pub fn reasons(plugins: &[PluginStatus], compiling: &[Arc<str>]) -> Vec<String> {
    let absent = plugins.iter().filter(|plugin| plugin.serving.is_none());
    let reason = |plugin: &PluginStatus| match () {
        () if compiling.contains(&plugin.name) => sentence(plugins, compiling, &plugin.name),
        () if is_pending(plugin) => format!("{} is being prepared", plugin.name),
        () => format!("{} does not serve: {}", plugin.name, plugin.reasons.join("; ")),
    };
    absent.map(reason).collect()
}

/// Logs the start of each compilation until each plugin has served or was refused once.
pub async fn follow(reloader: &Reloader, compiling: &Compiling) {
    let mut changes = compiling.subscribe();
    let mut before: Vec<Arc<str>> = Vec::new();
    let mut loaded = std::pin::pin!(reloader.wait_for_first_loads());
    loop {
        let now = changes.borrow_and_update().clone();
        let begun: Vec<&Arc<str>> = now.iter().filter(|plugin| !before.contains(*plugin)).collect();
        let plugins = if begun.is_empty() { Vec::new() } else { reloader.status().await };
        for plugin in begun {
            tracing::info!(plugin = &**plugin, "{}", sentence(&plugins, &now, plugin));
        }
        before = now;
        tokio::select! {
            () = &mut loaded => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
    }
}

/// Renders "compiling notes (2 of 4)". Plugins that were published or refused, and concurrent compilations that began
/// earlier, are counted before it.
fn sentence(plugins: &[PluginStatus], compiling: &[Arc<str>], plugin: &str) -> String {
    let ended = plugins.iter().filter(|other| *other.name != *plugin && !is_pending(other)).count();
    let earlier = compiling.iter().take_while(|other| ***other != *plugin);
    let earlier = earlier.filter(|name| plugins.iter().any(|other| other.name == **name && is_pending(other))).count();
    let number = ended.saturating_add(earlier).saturating_add(1);
    format!("compiling {plugin} ({number} of {})", plugins.len())
}

/// Returns true if the plugin does not serve, and either has no result since the start or is being prepared.
fn is_pending(plugin: &PluginStatus) -> bool {
    plugin.serving.is_none() && (plugin.reasons.is_empty() || plugin.state == PluginState::Preparing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::reload::{ServingStatus, Version};

    fn plugin(name: &str, state: PluginState, reasons: &[&str]) -> PluginStatus {
        let serving = (state == PluginState::Serving).then(|| ServingStatus {
            version: Version { version: "1.0.0".into(), hash: "0".into() },
            build: String::new(),
            generation: 1,
            since: 0,
            in_flight: 0,
        });
        let reasons = reasons.iter().map(|reason| (*reason).to_owned()).collect();
        PluginStatus { name: name.into(), mount: "/".into(), state, reasons, serving, parked: None, kept: None }
    }

    #[test]
    fn reasons_distinguish_compiling_waiting_and_refused_plugins() {
        let plugins = [
            plugin("notes", PluginState::Serving, &[]),
            plugin("rules", PluginState::Down, &["is empty"]),
            plugin("tasks", PluginState::Preparing, &[]),
            plugin("words", PluginState::Down, &[]),
        ];
        assert_eq!(
            reasons(&plugins, &["tasks".into()]),
            ["rules does not serve: is empty", "compiling tasks (3 of 4)", "words is being prepared"]
        );
    }

    #[test]
    fn concurrent_compilations_are_numbered_in_the_order_of_their_start() {
        let plugins = [
            plugin("notes", PluginState::Serving, &[]),
            plugin("rules", PluginState::Preparing, &[]),
            plugin("tasks", PluginState::Preparing, &[]),
            plugin("words", PluginState::Preparing, &[]),
        ];
        let compiling = Compiling::default();
        let _begun = ["tasks", "notes", "rules"].map(|plugin| compiling.begin(&plugin.into()));
        assert_eq!(
            reasons(&plugins, &compiling.current()),
            ["compiling rules (3 of 4)", "compiling tasks (2 of 4)", "words is being prepared"]
        );
    }

    #[test]
    fn serving_plugin_yields_no_reason_while_its_next_version_compiles() {
        let plugins = [plugin("notes", PluginState::Serving, &[])];
        assert_eq!(reasons(&plugins, &["notes".into()]), Vec::<String>::new());
    }
}
