//! Verifies the integrity of hash chains: reads and hashes each line again, from the first kept line on.
//!
//! Verification runs in parts, each in one read transaction, and resumes where the last part ended. It never blocks
//! writes. Lines that retention deletes meanwhile are not reported. Removed lines at the end of a chain cannot be
//! detected. Compare the result with an earlier one to detect them.

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use super::{Hash, JournalSchema, StoredLine, hash_of};
use crate::db::{Database, DbError};

/// A chain, up to the last verified line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    pub plugin: String,
    pub tenant: String,
    /// Number of the last line that retention deleted. 0 if there is none.
    pub cut: i64,
    /// Number of the last valid line, or `cut` if no line is left.
    pub last: i64,
    pub head: Hash,
    /// The first invalid line. Lines after it were not checked.
    pub flaw: Option<Flaw>,
}

/// An inconsistency of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flaw {
    pub seq: i64,
    pub kind: FlawKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlawKind {
    #[error("it was changed")]
    Changed,
    #[error("it is missing, though later ones are there")]
    Missing,
    #[error("it does not follow from the one before: one of the two was put there")]
    Misplaced,
}

/// Selects chains. `None` matches all values.
#[derive(Clone, Debug, Default)]
pub struct ChainFilter {
    pub plugin: Option<String>,
    pub tenant: Option<String>,
}

/// Limits of one part.
#[derive(Clone, Copy, Debug)]
pub struct VerifyBounds {
    pub lines: usize,
    pub bytes: usize,
}

impl VerifyBounds {
    pub const ALL: VerifyBounds = VerifyBounds { lines: usize::MAX, bytes: usize::MAX };

    fn is_exhausted(&self) -> bool {
        self.lines == 0 || self.bytes == 0
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainsPage {
    /// Chains that were verified to their end or to their first flaw.
    pub chains: Vec<Chain>,
    /// The chain at which the next part continues.
    pub open: Option<Chain>,
}

impl Chain {
    /// Returns the number of valid lines.
    pub fn lines(&self) -> u64 {
        u64::try_from(self.last.saturating_sub(self.cut)).unwrap_or(0)
    }

    fn matches(&self, filter: &ChainFilter) -> bool {
        filter.plugin.as_ref().is_none_or(|plugin| *plugin == self.plugin)
            && filter.tenant.as_ref().is_none_or(|tenant| *tenant == self.tenant)
    }

    fn add(&mut self, line: Option<StoredLine>) {
        let expected = self.last.saturating_add(1);
        let flaw = |seq, kind| Some(Flaw { seq, kind });
        let Some(line) = line else {
            self.flaw = flaw(expected, FlawKind::Changed);
            return;
        };
        self.flaw = match line.seq {
            seq if seq > expected => flaw(expected, FlawKind::Missing),
            seq if seq < expected => flaw(seq, FlawKind::Misplaced),
            seq if line.expected_hash() != line.hash => flaw(seq, FlawKind::Changed),
            seq if line.prev != self.head => flaw(seq, FlawKind::Misplaced),
            seq => {
                (self.last, self.head) = (seq, line.hash);
                None
            }
        };
    }
}

impl Database {
    /// Verifies chains in the order of plugin and tenant. Starts at `open` of the previous part, if given.
    pub async fn verify_chains(
        &self,
        filter: &ChainFilter,
        open: Option<Chain>,
        bounds: VerifyBounds,
    ) -> Result<ChainsPage, DbError> {
        let mut search = self.begin_operator_search().await?;
        let page = verify(search.connection()?, filter, open, bounds).await?;
        search.finish();
        Ok(page)
    }

    /// Verifies all chains at once, on the connection of a copy that is being checked.
    pub async fn verify_all_chains(&self) -> Result<Vec<Chain>, DbError> {
        let mut reader = self.readers().acquire().await?;
        Ok(verify(&mut reader, &ChainFilter::default(), None, VerifyBounds::ALL).await?.chains)
    }
}

async fn verify(
    connection: &mut SqliteConnection,
    filter: &ChainFilter,
    open: Option<Chain>,
    mut left: VerifyBounds,
) -> Result<ChainsPage, DbError> {
    let mut snapshot = connection.begin().await?;
    let schema = JournalSchema::of(&mut snapshot).await?;
    let mut page = ChainsPage::default();
    let mut next = match open {
        Some(chain) => Some(chain),
        None => find_next(&mut snapshot, (schema, filter), &Chain::default()).await?,
    };
    while let Some(mut chain) = next {
        if left.is_exhausted() {
            page.open = Some(chain);
            break;
        }
        verify_chain(&mut snapshot, schema, &mut chain, &mut left).await?;
        if left.is_exhausted() && chain.flaw.is_none() {
            page.open = Some(chain);
            break;
        }
        next = find_next(&mut snapshot, (schema, filter), &chain).await?;
        page.chains.push(chain);
    }
    snapshot.commit().await?;
    Ok(page)
}

/// Returns the next chain, without verifying it.
async fn find_next(
    connection: &mut SqliteConnection,
    (schema, filter): (JournalSchema, &ChainFilter),
    after: &Chain,
) -> Result<Option<Chain>, DbError> {
    let cuts = match schema {
        JournalSchema::Older => "",
        JournalSchema::Current => "UNION SELECT plugin, tenant FROM journal_cuts WHERE (plugin, tenant) > (?1, ?2)",
    };
    let sql = format!(
        "SELECT plugin, tenant FROM journal WHERE (plugin, tenant) > (?1, ?2) {cuts} ORDER BY plugin, tenant LIMIT 1"
    );
    let (mut plugin, mut tenant) = (after.plugin.clone(), after.tenant.clone());
    loop {
        let query = sqlx::query_as(AssertSqlSafe(sql.clone())).bind(&plugin).bind(&tenant);
        let found: Option<(String, String)> = query.fetch_optional(&mut *connection).await?;
        let Some(found) = found else { return Ok(None) };
        (plugin, tenant) = found;
        let chain = Chain { plugin: plugin.clone(), tenant: tenant.clone(), ..Chain::default() };
        if chain.matches(filter) {
            return Ok(Some(chain));
        }
    }
}

/// Verifies a chain up to its end, its first flaw, or the limits in `left`.
async fn verify_chain(
    connection: &mut SqliteConnection,
    schema: JournalSchema,
    chain: &mut Chain,
    left: &mut VerifyBounds,
) -> Result<(), DbError> {
    // Also reads lines with numbers before the first one, which only another program can have inserted.
    let after = if chain.last == 0 { i64::MIN } else { chain.last };
    if let Some((seq, hash)) = find_cut(connection, schema, chain).await? {
        if seq > chain.last {
            (chain.last, chain.head) = (seq, hash);
        }
        chain.cut = seq;
    }
    let columns = schema.columns();
    let sql = format!("SELECT {columns} FROM journal WHERE plugin = ? AND tenant = ? AND seq > ? ORDER BY seq");
    let query = sqlx::query(AssertSqlSafe(sql)).bind(&chain.plugin).bind(&chain.tenant).bind(after);
    let mut rows = query.fetch(connection);
    while !left.is_exhausted() && chain.flaw.is_none() {
        let Some(row) = rows.try_next().await? else { break };
        let line = StoredLine::read(&row);
        left.lines = left.lines.saturating_sub(1);
        left.bytes = left.bytes.saturating_sub(line.as_ref().map_or(0, StoredLine::bytes));
        chain.add(line);
    }
    // Each chain counts as one more line, so that many short chains reach the limit as well.
    left.lines = left.lines.saturating_sub(1);
    Ok(())
}

/// Returns the number and the hash of the last line that retention deleted. With an older schema, derives them from the
/// first line.
async fn find_cut(
    connection: &mut SqliteConnection,
    schema: JournalSchema,
    chain: &Chain,
) -> Result<Option<(i64, Hash)>, DbError> {
    let sql = match schema {
        JournalSchema::Current => "SELECT seq, hash FROM journal_cuts WHERE plugin = ? AND tenant = ?",
        JournalSchema::Older => {
            "SELECT seq - 1, prev FROM journal WHERE plugin = ? AND tenant = ? ORDER BY seq LIMIT 1"
        }
    };
    let query = sqlx::query_as(sql).bind(&chain.plugin).bind(&chain.tenant);
    let found: Option<(i64, Vec<u8>)> = query.fetch_optional(connection).await?;
    // An invalid hash is replaced by one that matches no line, so the first line is reported as misplaced.
    Ok(found.map(|(seq, hash)| (seq, hash_of(hash).unwrap_or([0xff; 32]))))
}
