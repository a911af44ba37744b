//! Whether the chains are what was written: each line is read and hashed again, from the first that is kept.
//!
//! Goes on where it stopped, so that nothing is held for long: one part is one transaction that reads. It keeps nobody from
//! writing, and what retention deletes meanwhile is no flaw. A cut end does not show: compare with what was seen earlier.

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use super::{Form, Hash, StoredLine, hash_of};
use crate::db::{Database, DbError};

/// One chain, as far as it was followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    pub plugin: String,
    pub tenant: String,
    /// The last line that retention deleted; 0: none.
    pub cut: i64,
    /// The last line that follows from all before it; the cut where none is left.
    pub last: i64,
    pub head: Hash,
    /// The first line that is wrong. What stands behind it was not looked at.
    pub flaw: Option<Flaw>,
}

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

/// `None`: of all.
#[derive(Clone, Debug, Default)]
pub struct ChainFilter {
    pub plugin: Option<String>,
    pub tenant: Option<String>,
}

/// What is read in one part.
#[derive(Clone, Copy, Debug)]
pub struct FollowBounds {
    pub lines: usize,
    pub bytes: usize,
}

impl FollowBounds {
    pub const ALL: FollowBounds = FollowBounds { lines: usize::MAX, bytes: usize::MAX };

    fn is_used_up(&self) -> bool {
        self.lines == 0 || self.bytes == 0
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainsPage {
    /// Followed to their ends.
    pub chains: Vec<Chain>,
    /// Where to go on.
    pub open: Option<Chain>,
}

impl Chain {
    /// Lines that follow from each other.
    pub fn lines(&self) -> u64 {
        u64::try_from(self.last.saturating_sub(self.cut)).unwrap_or(0)
    }

    fn is_of(&self, filter: &ChainFilter) -> bool {
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
    /// The chains by plugin and tenant, each from its oldest line, or all from `open` of the part before.
    pub async fn follow_chains(
        &self,
        filter: &ChainFilter,
        open: Option<Chain>,
        bounds: FollowBounds,
    ) -> Result<ChainsPage, DbError> {
        let mut survey = self.begin_survey().await?;
        let page = follow(survey.connection()?, filter, open, bounds).await?;
        survey.finish();
        Ok(page)
    }

    /// All of them at once, on the connection of a copy that is being checked.
    pub async fn follow_all_chains(&self) -> Result<Vec<Chain>, DbError> {
        let mut reader = self.readers().acquire().await?;
        Ok(follow(&mut reader, &ChainFilter::default(), None, FollowBounds::ALL).await?.chains)
    }
}

async fn follow(
    connection: &mut SqliteConnection,
    filter: &ChainFilter,
    open: Option<Chain>,
    mut left: FollowBounds,
) -> Result<ChainsPage, DbError> {
    let mut snapshot = connection.begin().await?;
    let form = Form::of(&mut snapshot).await?;
    let mut page = ChainsPage::default();
    let mut next = match open {
        Some(chain) => Some(chain),
        None => find_next(&mut snapshot, (form, filter), &Chain::default()).await?,
    };
    while let Some(mut chain) = next {
        if left.is_used_up() {
            page.open = Some(chain);
            break;
        }
        follow_one(&mut snapshot, form, &mut chain, &mut left).await?;
        if left.is_used_up() && chain.flaw.is_none() {
            page.open = Some(chain);
            break;
        }
        next = find_next(&mut snapshot, (form, filter), &chain).await?;
        page.chains.push(chain);
    }
    snapshot.commit().await?;
    Ok(page)
}

/// The first chain after this one, not followed yet.
async fn find_next(
    connection: &mut SqliteConnection,
    (form, filter): (Form, &ChainFilter),
    after: &Chain,
) -> Result<Option<Chain>, DbError> {
    let cuts = match form {
        Form::Older => "",
        Form::Present => "UNION SELECT plugin, tenant FROM journal_cuts WHERE (plugin, tenant) > (?1, ?2)",
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
        if chain.is_of(filter) {
            return Ok(Some(chain));
        }
    }
}

/// Until its end, its first flaw, or what is left to be read.
async fn follow_one(
    connection: &mut SqliteConnection,
    form: Form,
    chain: &mut Chain,
    left: &mut FollowBounds,
) -> Result<(), DbError> {
    // Nothing stands before the first line; what stands there was put there.
    let after = if chain.last == 0 { i64::MIN } else { chain.last };
    if let Some((seq, hash)) = find_cut(connection, form, chain).await? {
        if seq > chain.last {
            (chain.last, chain.head) = (seq, hash);
        }
        chain.cut = seq;
    }
    let columns = form.columns();
    let sql = format!("SELECT {columns} FROM journal WHERE plugin = ? AND tenant = ? AND seq > ? ORDER BY seq");
    let query = sqlx::query(AssertSqlSafe(sql)).bind(&chain.plugin).bind(&chain.tenant).bind(after);
    let mut rows = query.fetch(connection);
    while !left.is_used_up() && chain.flaw.is_none() {
        let Some(row) = rows.try_next().await? else { break };
        let line = StoredLine::read(&row);
        left.lines = left.lines.saturating_sub(1);
        left.bytes = left.bytes.saturating_sub(line.as_ref().map_or(0, StoredLine::bytes));
        chain.add(line);
    }
    // Many short chains are a long way, too.
    left.lines = left.lines.saturating_sub(1);
    Ok(())
}

/// What retention deleted last. A file that has no word of it is believed.
async fn find_cut(
    connection: &mut SqliteConnection,
    form: Form,
    chain: &Chain,
) -> Result<Option<(i64, Hash)>, DbError> {
    let sql = match form {
        Form::Present => "SELECT seq, hash FROM journal_cuts WHERE plugin = ? AND tenant = ?",
        Form::Older => "SELECT seq - 1, prev FROM journal WHERE plugin = ? AND tenant = ? ORDER BY seq LIMIT 1",
    };
    let query = sqlx::query_as(sql).bind(&chain.plugin).bind(&chain.tenant);
    let found: Option<(i64, Vec<u8>)> = query.fetch_optional(connection).await?;
    // A hash that is none fits no line: the first one is then out of order.
    Ok(found.map(|(seq, hash)| (seq, hash_of(hash).unwrap_or([0xff; 32]))))
}
