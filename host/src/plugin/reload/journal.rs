//! The journal of swaps: the actor, time, versions and outcome of each. It decides which version serves after a
//! restart, and which version a rollback publishes.
//!
//! Owns the format of a line and the rules that read it. The database stores the lines.

use std::sync::Arc;

use futures_util::future::BoxFuture;

/// Trigger of a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapAction {
    /// The host started, or the plugin was added to plugins.toml.
    Start,
    /// The component's file changed.
    File,
    /// Its section of plugins.toml changed.
    Config,
    /// An operator sent a component.
    Deploy,
    Rollback,
    /// The plugin was removed from plugins.toml.
    Remove,
}

impl SwapAction {
    pub const ALL: [SwapAction; 6] = [
        SwapAction::Start,
        SwapAction::File,
        SwapAction::Config,
        SwapAction::Deploy,
        SwapAction::Rollback,
        SwapAction::Remove,
    ];

    /// Returns the stored and displayed name.
    pub fn name(self) -> &'static str {
        match self {
            SwapAction::Start => "start",
            SwapAction::File => "file",
            SwapAction::Config => "config",
            SwapAction::Deploy => "deploy",
            SwapAction::Rollback => "rollback",
            SwapAction::Remove => "remove",
        }
    }

    pub fn parse(name: &str) -> Option<SwapAction> {
        SwapAction::ALL.into_iter().find(|action| action.name() == name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapOutcome {
    /// The change serves.
    Published,
    /// Nothing has changed.
    Refused,
    /// A newer change of the same plugin came before it was published.
    Overtaken,
}

impl SwapOutcome {
    /// Returns the stored and displayed name.
    pub fn name(self) -> &'static str {
        match self {
            SwapOutcome::Published => "published",
            SwapOutcome::Refused => "refused",
            SwapOutcome::Overtaken => "overtaken",
        }
    }

    pub fn parse(name: &str) -> Option<SwapOutcome> {
        [SwapOutcome::Published, SwapOutcome::Refused, SwapOutcome::Overtaken]
            .into_iter()
            .find(|outcome| outcome.name() == name)
    }
}

/// One line of the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct SwapEntry {
    /// Milliseconds since 1970.
    pub at: u64,
    /// "file watch", "plugins.toml", "host", or the name of an operator.
    pub actor: String,
    pub plugin: Arc<str>,
    pub action: SwapAction,
    /// Hash of the component that served before.
    pub from: Option<Arc<str>>,
    /// Hash of the component that the change publishes.
    pub to: Option<Arc<str>>,
    /// Hash of the component's file at that time: until it differs, the journal decides what serves.
    pub file_hash: Option<Arc<str>>,
    pub outcome: SwapOutcome,
    pub reasons: Vec<String>,
    /// Milliseconds of each step, in order.
    pub steps_ms: Vec<(String, f64)>,
}

/// Storage of the lines. Errors are sentences for operators.
pub trait SwapJournal: Send + Sync + 'static {
    /// Writes lines and returns when they are durable. After an error they may still be durable.
    fn record(&self, entries: Vec<SwapEntry>) -> BoxFuture<'_, Result<(), String>>;

    /// Returns the last `limit` lines of a plugin with the outcome *published*, the newest first.
    fn find_published<'a>(&'a self, plugin: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<SwapEntry>, String>>;
}

/// Returns the hash of the component that served last, and of the file at that time.
pub fn last_served(published: &[SwapEntry]) -> Option<(Arc<str>, Option<Arc<str>>)> {
    let last = published.first().filter(|entry| entry.action != SwapAction::Remove)?;
    Some((last.to.clone()?, last.file_hash.clone()))
}

/// Returns the component that served before `current`.
pub fn predecessor(published: &[SwapEntry], current: &str) -> Option<Arc<str>> {
    let took_over = published.iter().find(|entry| {
        entry.to.as_deref() == Some(current) && entry.from.as_deref().is_some_and(|from| from != current)
    });
    took_over.and_then(|entry| entry.from.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(action: SwapAction, from: &str, to: &str) -> SwapEntry {
        let hash = |text: &str| (!text.is_empty()).then(|| Arc::from(text));
        SwapEntry {
            at: 0,
            actor: "operator".into(),
            plugin: "notes".into(),
            action,
            from: hash(from),
            to: hash(to),
            file_hash: Some("file".into()),
            outcome: SwapOutcome::Published,
            reasons: Vec::new(),
            steps_ms: Vec::new(),
        }
    }

    #[test]
    fn newest_line_names_the_serving_version_unless_the_plugin_was_removed() {
        let lines = [entry(SwapAction::Rollback, "b", "a"), entry(SwapAction::File, "a", "b")];
        assert_eq!(last_served(&lines).unwrap().0.as_ref(), "a");
        assert_eq!(last_served(&[entry(SwapAction::Remove, "a", "")]), None);
        assert_eq!(last_served(&[]), None);
    }

    #[test]
    fn change_of_settings_does_not_hide_the_predecessor() {
        let lines =
            [entry(SwapAction::Config, "b", "b"), entry(SwapAction::File, "a", "b"), entry(SwapAction::Start, "", "a")];
        assert_eq!(predecessor(&lines, "b").as_deref(), Some("a"));
        assert_eq!(predecessor(&lines, "a"), None);
    }
}
