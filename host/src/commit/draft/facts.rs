//! Events, journal lines, numbers, idempotency records.

use std::sync::Arc;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{Draft, DraftError, check_json, check_name, misuse};
use crate::changes::change_set::{DecidedBy, Event, JournalLine, Key, Space};
use crate::changes::endpoint::EndpointId;
use crate::changes::envelope::{Envelope, EventFields};
use crate::clock::Timestamp;
use crate::commit::overlay::Content;
use crate::db::feed::{FeedBounds, FeedFilter, FeedPage};
use crate::db::idempotency::StoredIdempotencyRecord;
use crate::limits::{CALL_COUNTERS_MAX, FEED_BYTES_MAX, FEED_EXAMINED_MAX, FEED_LISTED_MAX};

/// Generates ids of events: the same in every run of a call, and not predictable from its other ids. They begin with
/// the time of the call, so that ids of the same time are adjacent in the index. A batch then writes one or two pages
/// of the index instead of one page for each id.
pub(super) struct EventIds {
    seed: [u8; 32],
    now: Timestamp,
    /// Created with the first event, because most calls have one event or none.
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
        let time = self.now.to_be_bytes();
        // Six bytes are enough until the year 10889.
        format!("event_{}{}", hex::encode(time.get(2..).unwrap_or_default()), hex::encode(random))
    }
}

impl Draft {
    /// Emits an event and returns its id. `payload` must be one JSON text. `only` is the single endpoint that receives
    /// a test event.
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
        let event = EventFields { id: &id, event_type, subject, tenant: scope.tenant(), at: self.call.now };
        let body = envelope.render(&event, payload);
        self.collect(body.len())?;
        self.events.push(Event {
            id: Arc::from(id.as_str()),
            event_type: event_type.into(),
            subject: subject.into(),
            body: body.into(),
            only: only.map(EndpointId::from),
            hops: self.call.hops,
        });
        Ok(id)
    }

    /// Returns durable events of the tenant after the event `after`, the oldest first. `None`: that event does not
    /// exist or is no longer stored.
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
        let bounds = FeedBounds { rows, examined: FEED_EXAMINED_MAX, bytes: FEED_BYTES_MAX };
        Ok(Some(self.database().find_feed(scope, after, filter, bounds).await?))
    }

    /// Appends a journal line, which is committed even if the plugin refuses or traps. `entry` must be one JSON text.
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

    /// Returns the next number (1, 2, 3, …) of a counter. A number is never returned twice, even in another run of the
    /// same call.
    pub async fn next(&mut self, name: &str) -> Result<u64, DraftError> {
        let scope = self.scope()?;
        check_name("the name of a counter", name)?;
        if !self.counters.contains(name) {
            if self.counters.len() >= CALL_COUNTERS_MAX {
                return Err(misuse(format!("a call may take numbers of at most {CALL_COUNTERS_MAX} counters")));
            }
            self.counters.insert(name.into());
        }
        Ok(self.running.shared.next_number(&scope, name).await?)
    }

    /// Returns the idempotency record of a key. An absent record is recorded as a read as well. If two calls have
    /// the same key, the second conflicts, runs again, and finds the record of the first.
    pub async fn find_idempotency_record(&mut self, name: &str) -> Result<Option<StoredIdempotencyRecord>, DraftError> {
        let Some(scope) = self.call.scope.clone() else { return Ok(None) };
        let key = Key { scope, space: Space::IdempotencyRecord, name: Arc::from(name) };
        let content = match self.find_cached(&key)? {
            Some(content) => content,
            None => {
                let found = self.database().find_idempotency_record(&key.scope, name).await?;
                let found = found.map(|row| {
                    (row.version, Content::IdempotencyRecord { fingerprint: row.fingerprint, sealed: row.sealed })
                });
                self.cache(key.clone(), found)?
            }
        };
        let version = self.seen.get(&key).map_or(0, |seen| seen.version);
        match content {
            Content::IdempotencyRecord { fingerprint, sealed } => {
                Ok(Some(StoredIdempotencyRecord { fingerprint, sealed, version }))
            }
            _ => Ok(None),
        }
    }
}
