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
    /// The section of the plugin in plugins.toml changed.
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
    /// A newer change of the same plugin arrived before this one was published.
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

/// A line of the journal.
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
    /// Version of that component. `None` if nothing was published, or if the host did not record it.
    pub version: Option<String>,
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

/// Returns the hash of the component that served last, and the hash of the file at that time.
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

/// A component, and the last time that it was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedVersion {
    pub hash: Arc<str>,
    /// `None` if the host that published it did not record it.
    pub version: Option<String>,
    /// `None` if the journal no longer has the line.
    pub published: Option<Publication>,
    /// The change that replaced it. `None` if it was published last.
    pub ended: Option<Publication>,
}

/// The time, actor and trigger of a published change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// Milliseconds since 1970.
    pub at: u64,
    pub actor: String,
    pub action: SwapAction,
}

/// Returns each component of the lines once, with its last publication, newest first. `published` is newest first, too.
pub fn versions(published: &[SwapEntry]) -> Vec<PublishedVersion> {
    let mut versions: Vec<PublishedVersion> = Vec::new();
    for period in periods(published).into_iter().rev() {
        match versions.iter_mut().find(|known| known.hash == period.hash) {
            Some(known) => known.version = known.version.take().or(period.version),
            None => versions.push(period),
        }
    }
    versions
}

/// Returns the periods in which each component was published, oldest first.
fn periods(published: &[SwapEntry]) -> Vec<PublishedVersion> {
    let before = published.last().and_then(|oldest| oldest.from.clone());
    let before = before.map(|hash| PublishedVersion { hash, version: None, published: None, ended: None });
    let mut periods: Vec<PublishedVersion> = before.into_iter().collect();
    for entry in published.iter().rev() {
        let change = Publication { at: entry.at, actor: entry.actor.clone(), action: entry.action };
        if let Some(current) = periods.last_mut().filter(|period| period.ended.is_none()) {
            // New settings publish the same component again.
            if entry.to.as_ref() == Some(&current.hash) {
                current.version = entry.version.clone().or_else(|| current.version.take());
                continue;
            }
            current.ended = Some(change.clone());
        }
        if let Some(hash) = &entry.to {
            let (hash, version) = (hash.clone(), entry.version.clone());
            periods.push(PublishedVersion { hash, version, published: Some(change), ended: None });
        }
    }
    periods
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
            version: None,
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

    #[test]
    fn versions_are_listed_once_with_the_change_that_replaced_them() {
        let mut lines = [
            entry(SwapAction::Start, "", "a"),
            entry(SwapAction::File, "a", "b"),
            entry(SwapAction::Config, "b", "b"),
            entry(SwapAction::Rollback, "b", "a"),
        ];
        lines.iter_mut().zip(1..).for_each(|(line, at)| line.at = at);
        lines.reverse();
        let versions = versions(&lines);
        let listed = versions.iter().map(|version| {
            let published = version.published.as_ref().map(|published| published.at);
            (&*version.hash, published, version.ended.as_ref().map(|ended| (ended.at, ended.action)))
        });
        let expected = [("a", Some(4), None), ("b", Some(2), Some((4, SwapAction::Rollback)))];
        assert_eq!(listed.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn version_whose_line_was_deleted_is_listed_without_its_publication() {
        let lines = [entry(SwapAction::File, "a", "b")];
        let versions = versions(&lines);
        assert_eq!((&*versions[1].hash, &versions[1].published), ("a", &None));
    }

    #[test]
    fn known_version_name_is_kept_if_a_later_line_has_none() {
        let named = SwapEntry { version: Some("1.0.0".into()), ..entry(SwapAction::Start, "", "a") };
        let lines = [entry(SwapAction::Rollback, "b", "a"), entry(SwapAction::File, "a", "b"), named];
        assert_eq!(versions(&lines)[0].version.as_deref(), Some("1.0.0"));
    }

    #[test]
    fn removed_plugin_has_no_current_version() {
        let lines = [entry(SwapAction::Remove, "a", ""), entry(SwapAction::Start, "", "a")];
        assert_eq!(versions(&lines)[0].ended.as_ref().map(|ended| ended.action), Some(SwapAction::Remove));
    }
}
