//! Numbers for `ids.next`, each returned at most once. Blocks of numbers are reserved in the database, so that a call
//! does not wait for the commits of other calls.

use std::collections::HashMap;
use std::sync::Arc;

use crate::changes::scope::Scope;
use crate::db::{Database, DbError};
use crate::limits::{COUNTER_BLOCK, COUNTERS_MAX};

/// Reserved numbers that were not returned yet: from `next` to `end`, exclusive.
#[derive(Default)]
struct Block {
    next: u64,
    end: u64,
}

type Counter = Arc<tokio::sync::Mutex<Block>>;

#[derive(Default)]
pub(super) struct Counters {
    blocks: parking_lot::Mutex<HashMap<(Scope, Arc<str>), Counter>>,
}

impl Counters {
    pub(super) async fn next(&self, database: &Database, scope: &Scope, name: &str) -> Result<u64, DbError> {
        let counter = self.counter(scope, name);
        let mut block = counter.lock_owned().await;
        if block.next == block.end {
            block.next = database.reserve_counter(scope, name, COUNTER_BLOCK).await?;
            block.end = block.next.saturating_add(COUNTER_BLOCK);
        }
        let number = block.next;
        block.next += 1;
        Ok(number)
    }

    fn counter(&self, scope: &Scope, name: &str) -> Counter {
        let mut blocks = self.blocks.lock();
        if blocks.len() >= COUNTERS_MAX {
            // Loses the reserved numbers of evicted counters: gaps are allowed, unbounded memory is not.
            blocks.retain(|_, counter| Arc::strong_count(counter) > 1);
        }
        blocks.entry((scope.clone(), Arc::from(name))).or_default().clone()
    }
}
