//! State of one plugin: its serving, parked and draining generations, and the change that is being prepared.
//!
//! Reads no file and publishes nothing.

use std::{collections::VecDeque, path::PathBuf, sync::Arc, time::Duration};

use tokio::{task::AbortHandle, time::Instant};

use super::{
    PluginState, PluginStatus, ServingStatus, SwapError, Version,
    journal::{SwapAction, SwapEntry, last_served, predecessor, versions},
    retry::Retry,
    settle::FileState,
    worker::{Intent, ResultSender},
};
use crate::{
    config::PluginConfig,
    limits,
    plugin::{compile::RetryPolicy, generation::Generation, load::Steps, watch},
};

/// Number of loads at a start: the component that served last, then the file.
const LOADS_OF_A_START: u64 = 2;

/// Reason that is added when the compiler has crashed too often.
const GIVEN_UP: &str =
    "it has crashed several times, so this component is not prepared again until its file or its settings change";

/// State of the checks of one file. At most one check runs at a time.
#[derive(Debug, Default)]
pub struct FileChecker {
    /// Hash of the content that was processed last, published or refused.
    pub known: Option<Arc<str>>,
    running: bool,
    again: bool,
}

impl FileChecker {
    /// Returns true if a check must be started now. While one runs, another is scheduled after it.
    pub fn begin(&mut self) -> bool {
        self.again = self.running;
        !std::mem::replace(&mut self.running, true)
    }

    /// Records the end of a check. Returns true if the file changed meanwhile, so that the result must be discarded.
    pub fn end(&mut self) -> bool {
        self.running = false;
        std::mem::take(&mut self.again)
    }

    pub fn is_running(&self) -> bool {
        self.running
    }
}

/// A change that is to be prepared.
pub struct Change {
    pub intent: Intent,
    pub steps: Steps,
    /// Time at which it was received.
    pub since: Instant,
    pub reply: Option<ResultSender>,
}

impl Change {
    pub fn new(intent: Intent, steps: Steps, reply: Option<ResultSender>) -> Change {
        Change { intent, steps, since: Instant::now(), reply }
    }

    pub fn hash(&self) -> &Arc<str> {
        self.intent.source.hash()
    }

    pub fn reject(self, why: SwapError) {
        if let Some(reply) = self.reply {
            let _gone = reply.send(Err(why));
        }
    }
}

pub struct Preparing {
    /// Only the newest preparation of a plugin may be published.
    pub ticket: u64,
    pub intent: Intent,
    pub task: AbortHandle,
    /// Time at which its preparation begins.
    pub begins: Instant,
    pub reply: Option<ResultSender>,
    /// True if a newer deploy or file ends it once it has begun. A change that ended another one does not yield:
    /// otherwise nothing would be published while changes arrive faster than they are compiled. A delayed change always
    /// yields.
    pub yields: bool,
}

impl Preparing {
    pub fn hash(&self) -> &Arc<str> {
        self.intent.source.hash()
    }

    /// Returns true until the preparation begins.
    pub fn is_delayed(&self) -> bool {
        Instant::now() < self.begins
    }
}

pub struct Serving {
    pub generation: Arc<Generation>,
    /// Milliseconds since 1970.
    pub since: u64,
}

pub struct Slot {
    pub config: Arc<PluginConfig>,
    /// Absolute path. Symbolic links in it are followed at each check.
    pub file: PathBuf,
    pub checker: FileChecker,
    pub serving: Option<Serving>,
    /// The generation of another component that served before.
    pub parked: Option<Arc<Generation>>,
    /// Hashes from the journal: the component that served last before this start, and the one before it.
    journaled_versions: Option<(Arc<str>, Arc<str>)>,
    /// Older generations on which calls still run.
    pub draining: Vec<Arc<Generation>>,
    pub preparing: Option<Preparing>,
    /// Prepared next, unless a newer change replaces it.
    pub waiting: Option<Change>,
    /// Duration and end of the last preparation.
    last_preparation: Option<(Duration, Instant)>,
    /// True if the file must be checked when the preparation has ended.
    pub check_next: bool,
    /// True if the settings have changed and no preparation under them has ended.
    pub settings_pending: bool,
    /// Hash of the component that the journal named when the plugin was added.
    pub journaled: Option<Arc<str>>,
    /// Hash of content of the file that was prepared and does not serve yet. It may be valid under other settings.
    pub pending_file: Option<Arc<str>>,
    /// Reasons why the last change was refused.
    pub reasons: Vec<String>,
    /// Reason why the last check could not read the file.
    pub unread: Option<String>,
    /// The next attempt after an error whose cause is outside of the component.
    pub retry: Retry,
    /// True if the last line of the journal may name a component that does not serve.
    pub is_unconfirmed: bool,
    /// Preparations since the start that were published or refused.
    pub ended: u64,
    /// True if the changes of the start have been published or refused.
    pub has_loaded: bool,
    /// Hashes of the published components whose bytes stay stored, the newest first: at most `components-kept`.
    stored: VecDeque<Arc<str>>,
}

impl Slot {
    pub fn new(config: Arc<PluginConfig>) -> Slot {
        Slot {
            file: watch::absolute(&config.component),
            config,
            checker: FileChecker::default(),
            serving: None,
            parked: None,
            journaled_versions: None,
            draining: Vec::new(),
            preparing: None,
            waiting: None,
            last_preparation: None,
            check_next: false,
            settings_pending: false,
            journaled: None,
            pending_file: None,
            reasons: Vec::new(),
            unread: None,
            retry: Retry::default(),
            is_unconfirmed: false,
            ended: 0,
            has_loaded: false,
            stored: VecDeque::new(),
        }
    }

    /// Takes the version that served last from the journal. Returns its hash.
    pub fn restore(&mut self, published: &[SwapEntry]) -> Option<Arc<str>> {
        for version in versions(published).into_iter().rev() {
            self.note_published(version.hash);
        }
        let (hash, file_hash) = last_served(published)?;
        self.checker.known = file_hash;
        self.journaled = Some(hash.clone());
        self.journaled_versions = predecessor(published, &hash).map(|earlier| (hash.clone(), earlier));
        Some(hash)
    }

    /// Records that a new generation serves. Returns the old one. It drains, and is parked if it is of another
    /// component.
    pub fn replace(&mut self, generation: Arc<Generation>, since: u64) -> Option<Arc<Generation>> {
        self.note_published(generation.hash.clone());
        self.reasons.clear();
        self.unread = None;
        let old = self.serving.replace(Serving { generation: generation.clone(), since })?.generation;
        self.draining.push(old.clone());
        if old.hash != generation.hash {
            self.parked = Some(old.clone());
        } else if self.parked.as_ref().is_some_and(|parked| parked.hash == generation.hash) {
            self.parked = None;
        }
        Some(old)
    }

    fn note_published(&mut self, hash: Arc<str>) {
        self.stored.retain(|known| *known != hash);
        self.stored.push_front(hash);
        self.stored.truncate(self.config.limits.components_kept);
    }

    /// Returns the parked generation if it is of this component and was created under the current settings.
    pub fn find_parked(&self, hash: &str) -> Option<Arc<Generation>> {
        let parked = self.parked.as_ref()?;
        (*parked.hash == *hash && *parked.config == *self.config).then(|| parked.clone())
    }

    /// Takes the change whose preparation has ended, and records its duration.
    pub fn end_preparing(&mut self) -> Option<Preparing> {
        let preparing = self.preparing.take()?;
        let now = Instant::now();
        self.ended = self.ended.saturating_add(1);
        self.last_preparation = Some((now.duration_since(preparing.begins), now));
        Some(preparing)
    }

    /// Returns the time at which the preparation of a waiting change begins: when no newer change has come for
    /// [`CHANGES_QUIET_MS`](limits::CHANGES_QUIET_MS). The delay is at most the duration of the last preparation,
    /// counted from its end, so the newest change serves after at most two such durations.
    pub fn begins_at(&self, change: &Change) -> Instant {
        let Some((took, ended)) = self.last_preparation else { return Instant::now() };
        let quiet = Duration::from_millis(limits::CHANGES_QUIET_MS);
        (change.since + quiet.min(took)).min(ended + took)
    }

    /// Returns the hashes of the components whose bytes and compiled code must stay.
    pub fn needed(&self) -> impl Iterator<Item = Arc<str>> {
        let serving = self.serving.as_ref().map(|serving| serving.generation.hash.clone());
        let parked = self.parked.as_ref().map(|parked| parked.hash.clone());
        let preparing = self.preparing.as_ref().map(|preparing| preparing.hash().clone());
        let waiting = self.waiting.as_ref().map(|change| change.hash().clone());
        self.stored.iter().cloned().chain(serving).chain(parked).chain(preparing).chain(waiting)
    }

    /// Plans another attempt after an error, unless the component is its cause. Returns the pause before the attempt.
    /// Commands are not repeated: their callers receive the error. Adds a reason if the compiler has crashed too often.
    pub fn plan_retry(&mut self, action: SwapAction, hash: &Arc<str>, swap_error: &mut SwapError) -> Option<Duration> {
        if !matches!(action, SwapAction::Start | SwapAction::File | SwapAction::Config) {
            return None;
        }
        match swap_error.retries {
            RetryPolicy::Unlimited => Some(self.retry.plan()),
            RetryPolicy::Limited => {
                let pause = self.retry.plan_after_crash(hash);
                if pause.is_none() {
                    swap_error.reasons.push(GIVEN_UP.to_owned());
                }
                pause
            }
            // The file is checked next, and its attempts go on.
            RetryPolicy::None if action == SwapAction::Start => None,
            RetryPolicy::None => {
                self.retry.end();
                None
            }
        }
    }

    /// Returns the hash of the content of the file that needs no attempt. Returns `None` if any content must be
    /// prepared.
    pub fn known_content(&self) -> Option<Arc<str>> {
        let is_repeated = self.retry.due().is_some() && self.awaits_retry_of_file() && self.preparing.is_none();
        self.checker.known.clone().filter(|_| !is_repeated)
    }

    /// Returns true if a content of the file was refused and not given up.
    pub fn awaits_retry_of_file(&self) -> bool {
        self.pending_file.as_ref().is_some_and(|hash| !self.retry.is_given_up(hash))
    }

    pub fn is_busy(&self) -> bool {
        self.checker.is_running() || self.preparing.is_some() || self.check_next
    }

    /// Returns true while the component that the journal names is loaded after a start.
    pub fn is_restoring(&self) -> bool {
        !self.has_loaded && self.preparing.as_ref().is_some_and(|preparing| preparing.intent.is_start())
    }

    /// Returns true until a plugin that served before the start serves again, or its first load has failed.
    pub fn awaits_journaled(&self) -> bool {
        self.journaled.is_some() && self.serving.is_none() && !self.has_loaded
    }

    /// Records a check during which the file changed, so that another follows. A plugin that serves, or whose file has
    /// no content to load, does not delay the start: a file that is rewritten constantly is always being checked.
    pub fn note_overtaken_check(&mut self, state: &FileState) {
        let has_outcome = self.serving.is_some() || !matches!(state, FileState::Changed(_));
        self.has_loaded |= has_outcome && self.preparing.is_none();
    }

    /// Records that the start has loaded the version that served last, then the file. Later changes do not reset it.
    pub fn note_load(&mut self) {
        self.has_loaded |= self.ended >= LOADS_OF_A_START || !self.is_busy();
    }

    pub fn status(&self, name: &Arc<str>) -> PluginStatus {
        let state = match &self.serving {
            _ if self.preparing.is_some() => PluginState::Preparing,
            None => PluginState::Down,
            Some(_) if self.draining.is_empty() => PluginState::Serving,
            Some(_) => PluginState::Draining,
        };
        let draining: u64 = self.draining.iter().map(|old| old.in_flight()).sum();
        PluginStatus {
            name: name.clone(),
            mount: self.config.mount.clone(),
            state,
            reasons: self.reasons.iter().chain(&self.unread).cloned().collect(),
            serving: self.serving.as_ref().map(|serving| ServingStatus {
                version: version_of(&serving.generation),
                build: serving.generation.manifest.build.clone(),
                generation: serving.generation.facts.generation,
                since: serving.since,
                in_flight: serving.generation.in_flight().saturating_add(draining),
            }),
            parked: self.parked.as_deref().map(version_of),
            kept: self.find_previous().filter(|_| self.parked.is_none()),
        }
    }

    /// Returns the hash of the component that served before the one that has served since the start.
    fn find_previous(&self) -> Option<Arc<str>> {
        let (serving, (last, earlier)) = (self.serving.as_ref()?, self.journaled_versions.as_ref()?);
        (serving.generation.hash == *last).then(|| earlier.clone())
    }
}

pub fn version_of(generation: &Generation) -> Version {
    Version { version: generation.manifest.version.clone(), hash: generation.hash.clone() }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::plugin::reload::{AllowedChanges, prepare::Source, settle::Content, worker::Cause};

    #[test]
    fn plugin_counts_as_loaded_after_two_changes_while_the_next_is_prepared() {
        let mut slot = Slot::new(Arc::new(crate::plugin::guest::config(&[])));
        assert!(slot.checker.begin());
        slot.ended = 1;
        slot.note_load();
        assert!(!slot.has_loaded);
        slot.ended = 2;
        slot.note_load();
        assert!(slot.is_busy() && slot.has_loaded);
    }

    #[test]
    fn plugin_whose_file_does_not_stop_changing_counts_as_loaded() {
        let mut slot = Slot::new(Arc::new(crate::plugin::guest::config(&[])));
        slot.ended = 1;
        let content = Content { bytes: Bytes::new(), hash: "0".into() };
        for (state, has_loaded) in
            [(FileState::Changed(content), false), (FileState::Unreadable("it changes".to_owned()), true)]
        {
            assert!(slot.checker.begin());
            assert!(!slot.checker.begin(), "the file changes meanwhile");
            assert!(slot.checker.end());
            slot.note_overtaken_check(&state);
            assert!(slot.checker.begin());
            slot.note_load();
            assert!(slot.is_busy());
            assert_eq!(slot.has_loaded, has_loaded, "{state:?}");
            slot.checker.end();
        }
    }

    fn deploy() -> Change {
        let source = Source::Content(Content { bytes: Bytes::new(), hash: "0".into() });
        let cause = Cause { action: SwapAction::Deploy, actor: "operator".into() };
        let intent = Intent { source, allowed: AllowedChanges::COMPATIBLE, cause };
        Change::new(intent, Steps::start(), None)
    }

    /// Returns a slot whose preparation took `took` and has just ended, and a change that came `before` that.
    async fn prepared_for(took: Duration, before: Duration) -> (Slot, Change) {
        let mut slot = Slot::new(Arc::new(crate::plugin::guest::config(&[])));
        let (task, begins) = (tokio::spawn(async {}).abort_handle(), Instant::now());
        let intent = deploy().intent;
        slot.preparing = Some(Preparing { ticket: 1, intent, task, begins, reply: None, yields: false });
        tokio::time::advance(took.saturating_sub(before)).await;
        let change = deploy();
        tokio::time::advance(before).await;
        slot.end_preparing().unwrap();
        (slot, change)
    }

    const QUIET: Duration = Duration::from_millis(limits::CHANGES_QUIET_MS);

    #[tokio::test(start_paused = true)]
    async fn change_without_a_newer_one_is_prepared_at_once() {
        let (slot, change) = prepared_for(QUIET * 3, QUIET).await;
        assert_eq!(slot.begins_at(&change), Instant::now());
    }

    #[tokio::test(start_paused = true)]
    async fn change_is_delayed_until_no_newer_one_has_come() {
        let (slot, change) = prepared_for(QUIET * 3, QUIET / 2).await;
        assert_eq!(slot.begins_at(&change), Instant::now() + QUIET / 2);
    }

    #[tokio::test(start_paused = true)]
    async fn delay_is_at_most_the_duration_of_the_last_preparation() {
        for took in [QUIET / 4, QUIET * 3] {
            let (slot, _) = prepared_for(took, Duration::ZERO).await;
            let ended = Instant::now();
            tokio::time::advance(took - Duration::from_millis(1)).await;
            assert_eq!(slot.begins_at(&deploy()), ended + took);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn newest_change_is_prepared_within_the_time_of_the_last_preparation() {
        for took in [QUIET / 4, QUIET, QUIET * 3] {
            for part in 0..=4 {
                let (slot, change) = prepared_for(took, took * part / 4).await;
                assert!(slot.begins_at(&change).max(Instant::now()) <= change.since + took, "{took:?} {part}");
            }
        }
    }

    #[test]
    fn component_whose_compiler_crashes_is_given_up_with_a_reason() {
        let mut slot = Slot::new(Arc::new(crate::plugin::guest::config(&[])));
        let hash: Arc<str> = "0".into();
        let mut note = |action: SwapAction| {
            let mut swap_error = SwapError { retries: RetryPolicy::Limited, ..SwapError::new("it crashed") };
            let pause = slot.plan_retry(action, &hash, &mut swap_error);
            (pause.is_some(), swap_error.reasons.len())
        };
        for _ in 1..limits::COMPILE_CRASHES_MAX {
            assert_eq!(note(SwapAction::File), (true, 1));
        }
        assert_eq!(note(SwapAction::Deploy), (false, 1));
        assert_eq!(note(SwapAction::File), (false, 2));
        assert_eq!(note(SwapAction::Start), (false, 2));
    }

    #[test]
    fn file_that_was_given_up_is_not_prepared_again_after_another_error() {
        let mut slot = Slot::new(Arc::new(crate::plugin::guest::config(&[])));
        let (journaled, file): (Arc<str>, Arc<str>) = ("0".into(), "1".into());
        slot.pending_file = Some(file.clone());
        slot.checker.known = Some(file.clone());
        let mut unlimited = SwapError { retries: RetryPolicy::Unlimited, ..SwapError::new("the disk is full") };
        assert!(slot.plan_retry(SwapAction::Start, &journaled, &mut unlimited).is_some());
        assert_eq!(slot.known_content(), None);
        while slot.retry.plan_after_crash(&file).is_some() {}
        assert!(slot.retry.due().is_some());
        assert_eq!(slot.known_content(), Some(file));
    }

    #[test]
    fn refused_journaled_component_does_not_shorten_the_pauses_of_the_file() {
        let mut slot = Slot::new(Arc::new(crate::plugin::guest::config(&[])));
        let mut note = |action: SwapAction, retries: RetryPolicy| {
            slot.retry.begin();
            let mut swap_error = SwapError { retries, ..SwapError::new("it is refused") };
            slot.plan_retry(action, &"0".into(), &mut swap_error)
        };
        let first = note(SwapAction::File, RetryPolicy::Unlimited).unwrap();
        assert_eq!(note(SwapAction::Start, RetryPolicy::None), None);
        assert_eq!(note(SwapAction::File, RetryPolicy::Unlimited), Some(first * 2));
        assert_eq!(note(SwapAction::File, RetryPolicy::None), None);
        assert_eq!(note(SwapAction::File, RetryPolicy::Unlimited), Some(first));
    }

    #[test]
    fn change_during_a_check_discards_its_result() {
        let mut checker = FileChecker::default();
        assert!(checker.begin());
        assert!(!checker.begin(), "one check at a time");
        assert!(checker.end(), "another check follows");
        assert!(checker.begin());
        assert!(!checker.end());
    }
}
