//! What the task knows of one plugin: what serves, what is parked, what drains, what is being prepared.
//!
//! Pure bookkeeping; never reads a file, never publishes.

use std::{collections::VecDeque, path::PathBuf, sync::Arc, time::Duration};

use tokio::{task::AbortHandle, time::Instant};

use super::{
    PluginState, PluginStatus, ServingStatus, SwapRefusal, Version,
    journal::{SwapAction, SwapEntry, last_served, predecessor},
    retry::Retry,
    settle::Look,
    worker::{Intent, Reply},
};
use crate::{
    config::PluginConfig,
    limits,
    plugin::{compile::Retries, generation::Generation, load::Steps, watch},
};

/// The component that served last, and the file.
const LOADS_OF_A_START: u64 = 2;

/// A reason of the last refusal for a crash of the compiler.
const GIVEN_UP: &str =
    "it has crashed several times, so this component is not prepared again until its file or its settings change";

/// Looking at one file, at most once at a time.
#[derive(Debug, Default)]
pub struct Looker {
    /// Hash of the content that was acted on last, published or refused.
    pub known: Option<Arc<str>>,
    running: bool,
    again: bool,
}

impl Looker {
    /// Whether a look has to be started now; while one runs, another follows it.
    pub fn begin(&mut self) -> bool {
        self.again = self.running;
        !std::mem::replace(&mut self.running, true)
    }

    /// A look came back; whether the file changed meanwhile, so that it counts for nothing.
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
    /// Receives what comes of it.
    pub reply: Option<Reply>,
}

impl Change {
    pub fn new(intent: Intent, steps: Steps, reply: Option<Reply>) -> Change {
        Change { intent, steps, since: Instant::now(), reply }
    }

    /// Hash of its component.
    pub fn hash(&self) -> &Arc<str> {
        self.intent.source.hash()
    }

    pub fn answer(self, why: SwapRefusal) {
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
    /// Receives what comes of it.
    pub reply: Option<Reply>,
    /// True if a newer deploy or file ends it once it has begun. A change that ended another one does not yield: where
    /// changes come faster than they are compiled, nothing would ever be published. A delayed change always yields.
    pub yields: bool,
}

impl Preparing {
    /// Hash of its component.
    pub fn hash(&self) -> &Arc<str> {
        self.intent.source.hash()
    }

    /// True until its preparation begins.
    pub fn is_delayed(&self) -> bool {
        Instant::now() < self.begins
    }

    /// Ends it before its time, and says why to who waits for it.
    pub fn abandon(self, why: SwapRefusal) {
        self.task.abort();
        if let Some(reply) = self.reply {
            let _gone = reply.send(Err(why));
        }
    }
}

pub struct Serving {
    pub generation: Arc<Generation>,
    /// Milliseconds since 1970.
    pub since: u64,
}

pub struct Slot {
    pub config: Arc<PluginConfig>,
    /// Absolute; links in it are followed each time.
    pub file: PathBuf,
    pub looker: Looker,
    pub serving: Option<Serving>,
    /// What served before, of another component.
    pub parked: Option<Arc<Generation>>,
    /// Hashes, by the journal: what served last before this start, and what served before that.
    remembered: Option<(Arc<str>, Arc<str>)>,
    /// Older generations on which calls still run.
    pub draining: Vec<Arc<Generation>>,
    pub preparing: Option<Preparing>,
    /// Prepared next, unless a newer change takes its place.
    pub waiting: Option<Change>,
    /// Duration and end of the last preparation.
    last_preparation: Option<(Duration, Instant)>,
    /// The file is to be looked at when the preparation has ended.
    pub then_look: bool,
    /// The settings have changed, and nothing that was prepared under them has come to its end.
    pub owes_settings: bool,
    /// Hash of the component that the journal named when the plugin was added.
    pub journaled: Option<Arc<str>>,
    /// Hash of a content of the file that was taken up and does not serve (yet): other settings may let it pass.
    pub pending_file: Option<Arc<str>>,
    /// Why the last attempt was refused.
    pub reasons: Vec<String>,
    /// Why the file could not be read when it was checked last.
    pub unread: Option<String>,
    /// The next attempt after a refusal for a cause outside of the component.
    pub retry: Retry,
    /// True if the last line of the journal may name a component that does not serve.
    pub is_unconfirmed: bool,
    /// Preparations since the start that were published or refused.
    pub ended: u64,
    /// Whether the changes that a start begins with have come to their end.
    pub has_loaded: bool,
    /// Hashes of components that were published, the newest first.
    published: VecDeque<Arc<str>>,
}

impl Slot {
    pub fn new(config: Arc<PluginConfig>) -> Slot {
        Slot {
            file: watch::absolute(&config.component),
            config,
            looker: Looker::default(),
            serving: None,
            parked: None,
            remembered: None,
            draining: Vec::new(),
            preparing: None,
            waiting: None,
            last_preparation: None,
            then_look: false,
            owes_settings: false,
            journaled: None,
            pending_file: None,
            reasons: Vec::new(),
            unread: None,
            retry: Retry::default(),
            is_unconfirmed: false,
            ended: 0,
            has_loaded: false,
            published: VecDeque::new(),
        }
    }

    /// Takes from the journal what served last; the hash of it.
    pub fn remember(&mut self, published: &[SwapEntry]) -> Option<Arc<str>> {
        for hash in published.iter().rev().filter_map(|entry| entry.to.clone()) {
            self.note_published(hash);
        }
        let (hash, file_hash) = last_served(published)?;
        self.looker.known = file_hash;
        self.journaled = Some(hash.clone());
        self.remembered = predecessor(published, &hash).map(|earlier| (hash.clone(), earlier));
        Some(hash)
    }

    /// The new generation serves; the old one drains, and is parked where it is of another component.
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
        self.published.retain(|known| *known != hash);
        self.published.push_front(hash);
        self.published.truncate(limits::COMPONENTS_KEPT);
    }

    /// The parked generation if it is of this component and was made under the settings of now.
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
    /// [`CHANGES_QUIET_MS`](limits::CHANGES_QUIET_MS). The delay is at most the duration of the last preparation, counted from
    /// its end, so the newest change serves after two of them.
    pub fn begins_at(&self, change: &Change) -> Instant {
        let Some((took, ended)) = self.last_preparation else { return Instant::now() };
        let quiet = Duration::from_millis(limits::CHANGES_QUIET_MS);
        (change.since + quiet.min(took)).min(ended + took)
    }

    /// Hashes whose bytes and compiled code must stay.
    pub fn needed(&self) -> impl Iterator<Item = Arc<str>> {
        let serving = self.serving.as_ref().map(|serving| serving.generation.hash.clone());
        let parked = self.parked.as_ref().map(|parked| parked.hash.clone());
        let preparing = self.preparing.as_ref().map(|preparing| preparing.hash().clone());
        let waiting = self.waiting.as_ref().map(|change| change.hash().clone());
        self.published.iter().cloned().chain(serving).chain(parked).chain(preparing).chain(waiting)
    }

    /// Plans another attempt after a refusal, unless it lies in the component; the pause before it. Commands are not repeated: their
    /// callers receive the refusal. Adds a reason if the compiler has crashed too often.
    pub fn note_refusal(&mut self, action: SwapAction, hash: &Arc<str>, refusal: &mut SwapRefusal) -> Option<Duration> {
        if !matches!(action, SwapAction::Start | SwapAction::File | SwapAction::Config) {
            return None;
        }
        match refusal.retries {
            Retries::Endless => Some(self.retry.plan()),
            Retries::Limited => {
                let pause = self.retry.plan_after_crash(hash);
                if pause.is_none() {
                    refusal.reasons.push(GIVEN_UP.to_owned());
                }
                pause
            }
            // The file is checked next, and its attempts go on.
            Retries::None if action == SwapAction::Start => None,
            Retries::None => {
                self.retry.end();
                None
            }
        }
    }

    /// Hash of the content of the file that needs no attempt; `None` if every content is to be taken up.
    pub fn known_content(&self) -> Option<Arc<str>> {
        let is_repeated = self.retry.due().is_some() && self.awaits_retry_of_file() && self.preparing.is_none();
        self.looker.known.clone().filter(|_| !is_repeated)
    }

    /// True if a content of the file was refused and not given up.
    pub fn awaits_retry_of_file(&self) -> bool {
        self.pending_file.as_ref().is_some_and(|hash| !self.retry.is_given_up(hash))
    }

    pub fn is_busy(&self) -> bool {
        self.looker.is_running() || self.preparing.is_some() || self.then_look
    }

    /// True while the component that the journal names is loaded after a start.
    pub fn is_restoring(&self) -> bool {
        !self.has_loaded && self.preparing.as_ref().is_some_and(|preparing| preparing.intent.is_start())
    }

    /// True until a plugin that served before the start serves again, or its first load has ended without.
    pub fn is_owed(&self) -> bool {
        self.journaled.is_some() && self.serving.is_none() && !self.has_loaded
    }

    /// The file changed during a check, so another follows. A plugin that serves, or whose file has no content to load,
    /// does not keep the start waiting: a file that is rewritten all the time is always being checked.
    pub fn note_overtaken_check(&mut self, look: &Look) {
        let has_outcome = self.serving.is_some() || !matches!(look, Look::New(_));
        self.has_loaded |= has_outcome && self.preparing.is_none();
    }

    /// A start prepares what served last, then what the file holds. Later changes do not undo it.
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
            kept: self.find_kept().filter(|_| self.parked.is_none()),
        }
    }

    /// What served before the component that serves since the start.
    fn find_kept(&self) -> Option<Arc<str>> {
        let (serving, (last, earlier)) = (self.serving.as_ref()?, self.remembered.as_ref()?);
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
    use crate::plugin::reload::{Passing, prepare::Source, settle::Content, worker::Cause};

    #[test]
    fn plugin_counts_as_loaded_after_two_changes_while_the_next_is_prepared() {
        let mut slot = Slot::new(Arc::new(crate::plugin::guest::config(&[])));
        assert!(slot.looker.begin());
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
        for (look, has_loaded) in [(Look::New(content), false), (Look::Unreadable("it changes".to_owned()), true)] {
            assert!(slot.looker.begin());
            assert!(!slot.looker.begin(), "the file changes meanwhile");
            assert!(slot.looker.end());
            slot.note_overtaken_check(&look);
            assert!(slot.looker.begin());
            slot.note_load();
            assert!(slot.is_busy());
            assert_eq!(slot.has_loaded, has_loaded, "{look:?}");
            slot.looker.end();
        }
    }

    fn deploy() -> Change {
        let source = Source::Content(Content { bytes: Bytes::new(), hash: "0".into() });
        let cause = Cause { action: SwapAction::Deploy, who: "operator".into() };
        let intent = Intent { source, passing: Passing::COMPATIBLE, cause };
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
    async fn the_newest_change_is_prepared_within_the_time_of_the_last_preparation() {
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
            let mut refusal = SwapRefusal { retries: Retries::Limited, ..SwapRefusal::because("it crashed") };
            let pause = slot.note_refusal(action, &hash, &mut refusal);
            (pause.is_some(), refusal.reasons.len())
        };
        for _ in 1..limits::COMPILE_CRASHES_MAX {
            assert_eq!(note(SwapAction::File), (true, 1));
        }
        assert_eq!(note(SwapAction::Deploy), (false, 1));
        assert_eq!(note(SwapAction::File), (false, 2));
        assert_eq!(note(SwapAction::Start), (false, 2));
    }

    #[test]
    fn file_that_was_given_up_is_not_prepared_again_for_another_refusal() {
        let mut slot = Slot::new(Arc::new(crate::plugin::guest::config(&[])));
        let (journaled, file): (Arc<str>, Arc<str>) = ("0".into(), "1".into());
        slot.pending_file = Some(file.clone());
        slot.looker.known = Some(file.clone());
        let mut endless = SwapRefusal { retries: Retries::Endless, ..SwapRefusal::because("the disk is full") };
        assert!(slot.note_refusal(SwapAction::Start, &journaled, &mut endless).is_some());
        assert_eq!(slot.known_content(), None);
        while slot.retry.plan_after_crash(&file).is_some() {}
        assert!(slot.retry.due().is_some());
        assert_eq!(slot.known_content(), Some(file));
    }

    #[test]
    fn refused_journaled_component_does_not_shorten_the_pauses_of_the_file() {
        let mut slot = Slot::new(Arc::new(crate::plugin::guest::config(&[])));
        let mut note = |action: SwapAction, retries: Retries| {
            slot.retry.begin();
            let mut refusal = SwapRefusal { retries, ..SwapRefusal::because("it is refused") };
            slot.note_refusal(action, &"0".into(), &mut refusal)
        };
        let first = note(SwapAction::File, Retries::Endless).unwrap();
        assert_eq!(note(SwapAction::Start, Retries::None), None);
        assert_eq!(note(SwapAction::File, Retries::Endless), Some(first * 2));
        assert_eq!(note(SwapAction::File, Retries::None), None);
        assert_eq!(note(SwapAction::File, Retries::Endless), Some(first));
    }

    #[test]
    fn a_change_during_a_look_makes_it_count_for_nothing() {
        let mut looker = Looker::default();
        assert!(looker.begin());
        assert!(!looker.begin(), "one look at a time");
        assert!(looker.end(), "it has to look again");
        assert!(looker.begin());
        assert!(!looker.end());
    }
}
