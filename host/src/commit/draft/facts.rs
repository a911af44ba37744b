//! Events, journal lines, numbers, kept answers.

use std::sync::Arc;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{Draft, DraftError, check_json, check_name, misuse};
use crate::changes::change_set::{DecidedBy, Event, JournalLine, Key, Space};
use crate::changes::envelope::{About, Envelope};
use crate::clock::Timestamp;
use crate::commit::overlay::Content;
use crate::db::answers::StoredAnswer;
use crate::db::feed::{FeedBounds, FeedFilter, FeedPage};
use crate::limits::{CALL_COUNTERS_MAX, FEED_BYTES_MAX, FEED_LISTED_MAX, FEED_LOOKED_AT_MAX};

/// Ids of events: the same in every run of a call, and not to be guessed from its other ids. They begin with the moment of
/// the call, so that those of one time lie side by side in the index: a batch then writes a page or two of it, where random
/// ones would write a page each.
pub(super) struct EventIds {
    seed: [u8; 32],
    now: Timestamp,
    /// Made with the first event: most calls have one or none.
    source: Option<ChaCha20Rng>,
}

/// The plugin's own ids and random bytes come from stream 0 of the seed.
const EVENT_ID_STREAM: u64 = 1;

impl EventIds {
    pub(super) fn new(seed: [u8; 32], now: Timestamp) -> EventIds {
        EventIds { seed, now, source: None }
    }

    fn next(&mut self) -> String {
        let seed = self.seed;
        let source = self.source.get_or_insert_with(|| {
            let mut source = ChaCha20Rng::from_seed(seed);
            source.set_stream(EVENT_ID_STREAM);
            source
        });
        let mut random = [0; 10];
        source.fill_bytes(&mut random);
        let moment = self.now.to_be_bytes();
        // Six of its bytes last until the year 10889.
        format!("event_{}{}", hex::encode(moment.get(2..).unwrap_or_default()), hex::encode(random))
    }
}

impl Draft {
    /// `payload` is one JSON text, `envelope` what surrounds it, `only` the one endpoint that a test event goes to. Returns
    /// the id of the event.
    pub fn emit(
        &mut self,
        envelope: &Envelope,
        (event_type, subject): (&str, &str),
        payload: &str,
        only: Option<&str>,
    ) -> Result<String, DraftError> {
        let scope = self.scope()?;
        check_name("the type of an event", event_type)?;
        check_name("the subject of an event", subject)?;
        check_json("the payload of an event", payload)?;
        let id = self.event_ids.next();
        let about = About { id: &id, event_type, subject, tenant: scope.tenant(), at: self.call.now };
        let body = envelope.surround(&about, payload);
        self.collect(body.len())?;
        self.events.push(Event {
            id: Arc::from(id.as_str()),
            event_type: event_type.into(),
            subject: subject.into(),
            body: body.into(),
            only: only.map(Arc::from),
            hops: self.call.hops,
        });
        Ok(id)
    }

    /// The events of the tenant after one of them, the oldest first: a look at what is durable. `None`: `after` is none of
    /// them, or is not kept any more.
    pub async fn list_events(
        &self,
        filter: &FeedFilter,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Option<FeedPage>, DraftError> {
        let Some(scope) = &self.call.scope else { return Ok(None) };
        let after = match after {
            None => Some(0),
            Some(id) => self.database().find_event(scope, id).await?,
        };
        let Some(after) = after else { return Ok(None) };
        let rows = limit.clamp(1, FEED_LISTED_MAX) as usize;
        let bounds = FeedBounds { rows, looked_at: FEED_LOOKED_AT_MAX, bytes: FEED_BYTES_MAX };
        Ok(Some(self.database().find_feed(scope, after, filter, bounds).await?))
    }

    /// `entry` is one JSON text. Stays if the call refuses.
    pub fn append_journal(&mut self, decided_by: Arc<DecidedBy>, entry: String) -> Result<(), DraftError> {
        self.scope()?;
        check_json("a journal entry", &entry)?;
        let line = JournalLine {
            subject: self.call.subject.clone(),
            operation: self.call.operation.clone(),
            request_id: self.call.request_id.clone(),
            decided_by: Some(decided_by),
            entry: entry.into(),
        };
        self.collect(line.bytes())?;
        self.journal.push(line);
        Ok(())
    }

    /// 1, 2, 3, … for a name; never the same twice, also not in another run of the same call.
    pub async fn next(&mut self, name: &str) -> Result<u64, DraftError> {
        let scope = self.scope()?;
        check_name("the name of a counter", name)?;
        if !self.counters.contains(name) {
            if self.counters.len() >= CALL_COUNTERS_MAX {
                return Err(misuse(format!("a call takes numbers of at most {CALL_COUNTERS_MAX} counters")));
            }
            self.counters.insert(name.into());
        }
        Ok(self.running.shared.next_number(&scope, name).await?)
    }

    /// The answer that is kept under an idempotency key. That there is none is noted as well: of two calls with the same
    /// key one loses, runs again, and finds the answer of the other.
    pub async fn find_answer(&mut self, name: &str) -> Result<Option<StoredAnswer>, DraftError> {
        let Some(scope) = self.call.scope.clone() else { return Ok(None) };
        let key = Key { scope, space: Space::Answer, name: Arc::from(name) };
        let content = match self.look(&key)? {
            Some(content) => content,
            None => {
                let found = self.database().find_answer(&key.scope, name).await?;
                let found = found
                    .map(|kept| (kept.version, Content::Answer { fingerprint: kept.fingerprint, sealed: kept.sealed }));
                self.keep(key.clone(), found)?
            }
        };
        let version = self.seen.get(&key).map_or(0, |stand| stand.version);
        match content {
            Content::Answer { fingerprint, sealed } => Ok(Some(StoredAnswer { fingerprint, sealed, version })),
            _ => Ok(None),
        }
    }
}
