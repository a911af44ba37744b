use std::sync::Arc;

use super::*;
use crate::db::Database;
use crate::db::retention::GrowingTable;
use crate::db::testing::{TestFile, batch, change, model};

const TENANT: &str = "acme/test";

fn line(entry: &str, decided_by: Option<&str>) -> JournalLine {
    let by = |version: &str| Arc::new(DecidedBy { version: version.into(), component: "c0ffee".into() });
    JournalLine {
        subject: "key_1".into(),
        operation: "do".into(),
        request_id: "r".into(),
        decided_by: decided_by.map(by),
        entry: entry.into(),
    }
}

/// Writes `count` lines of acme at the times 1 001, 1 002, …, and one line of another tenant.
async fn with_lines(count: u64) -> TestFile {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    let write = |tenant: &str, version: u64| {
        let written = line(&version.to_string(), version.is_multiple_of(2).then_some("1.2.3"));
        change(&model, version, tenant).edit(|changes| changes.journal = vec![written])
    };
    let other = write("other/test", count + 1);
    let changes = (1..=count).map(|version| write(TENANT, version)).chain([other]).collect();
    file.db.writer().apply(&batch("b1", changes)).await.unwrap();
    file
}

async fn verified(file: &TestFile) -> Vec<Chain> {
    let all = file.db.verify_chains(&ChainFilter::default(), None, VerifyBounds::ALL).await.unwrap();
    assert_eq!(all.open, None);
    all.chains
}

/// Runs `sql` and returns the flaw of acme's chain. Checks that the other chain has none.
async fn flaw_after(sql: &'static str) -> Option<(i64, FlawKind)> {
    let file = with_lines(6).await;
    file.damage(sql).await;
    let chains = verified(&file).await;
    let flaw = |tenant: &str| chains.iter().find(|chain| chain.tenant == tenant).and_then(|chain| chain.flaw);
    assert_eq!(flaw("other/test"), None);
    flaw(TENANT).map(|flaw| (flaw.seq, flaw.kind))
}

#[tokio::test]
async fn unchanged_chain_is_valid_with_and_without_a_deciding_component() {
    let chains = verified(&with_lines(6).await).await;
    let summary: Vec<_> = chains.iter().map(|chain| (&*chain.tenant, chain.lines(), chain.last, chain.flaw)).collect();
    assert_eq!(summary, [(TENANT, 6, 6, None), ("other/test", 1, 1, None)]);
}

#[tokio::test]
async fn first_invalid_line_is_reported_with_its_kind_of_flaw() {
    use FlawKind::{Changed, Misplaced, Missing};
    for (sql, flaw) in [
        ("UPDATE journal SET entry = '9' WHERE tenant = 'acme/test' AND seq = 4", (4, Changed)),
        ("UPDATE journal SET entry = X'ff' WHERE tenant = 'acme/test' AND seq = 4", (4, Changed)),
        ("UPDATE journal SET at = -1 WHERE tenant = 'acme/test' AND seq = 3", (3, Changed)),
        ("UPDATE journal SET hash = X'00' WHERE tenant = 'acme/test' AND seq = 2", (2, Changed)),
        ("UPDATE journal SET version = '9.9.9' WHERE tenant = 'acme/test' AND seq = 4", (4, Changed)),
        ("UPDATE journal SET version = NULL, component = NULL WHERE tenant = 'acme/test' AND seq = 4", (4, Changed)),
        ("UPDATE journal SET version = '', component = '' WHERE tenant = 'acme/test' AND seq = 3", (3, Changed)),
        ("UPDATE journal SET component = NULL WHERE tenant = 'acme/test' AND seq = 4", (4, Changed)),
        ("DELETE FROM journal WHERE tenant = 'acme/test' AND seq = 3", (3, Missing)),
        ("DELETE FROM journal WHERE tenant = 'acme/test' AND seq < 3", (1, Missing)),
        ("UPDATE journal SET seq = -seq WHERE tenant = 'acme/test' AND seq = 6", (-6, Misplaced)),
        ("INSERT INTO journal_cuts VALUES ('notes', 'acme/test', 2, zeroblob(32))", (1, Misplaced)),
    ] {
        assert_eq!(flaw_after(sql).await, Some(flaw), "{sql}");
    }
}

#[tokio::test]
async fn next_line_after_a_rewritten_line_with_a_valid_hash_is_misplaced() {
    let file = with_lines(6).await;
    let lines = file.db.list_lines(&LineFilter::default(), None, ALL_LINES).await.unwrap().lines;
    let mut forged = lines.into_iter().find(|stored| stored.seq == 3).unwrap();
    forged.line.entry = "9".into();
    let update = sqlx::query("UPDATE journal SET entry = '9', hash = ? WHERE tenant = 'acme/test' AND seq = 3");
    file.db.execute(update.bind(forged.expected_hash().to_vec())).await.unwrap();
    assert_eq!(verified(&file).await[0].flaw, Some(Flaw { seq: 4, kind: FlawKind::Misplaced }));
}

#[tokio::test]
async fn verification_in_parts_returns_the_same_chains() {
    let file = with_lines(6).await;
    let (mut open, mut chains, mut parts) = (None, Vec::new(), 0);
    loop {
        let bounds = VerifyBounds { lines: 3, bytes: usize::MAX };
        let part = file.db.verify_chains(&ChainFilter::default(), open, bounds).await.unwrap();
        chains.extend(part.chains);
        parts += 1;
        open = part.open;
        if open.is_none() {
            break;
        }
    }
    assert!(parts > 2, "{parts}");
    assert_eq!(chains, verified(&file).await);
    let one = ChainFilter { tenant: Some("other/test".into()), ..ChainFilter::default() };
    assert_eq!(file.db.verify_chains(&one, None, VerifyBounds::ALL).await.unwrap().chains, chains[1..]);
}

/// Deletes lines older than 1 000 + `count`.
async fn prune(file: &TestFile, count: u64) {
    file.db.prune_older(GrowingTable::Journal, 1_000 + count, &|| true).await.unwrap();
}

#[tokio::test]
async fn retention_between_two_parts_causes_no_flaw() {
    let file = with_lines(6).await;
    let bounds = VerifyBounds { lines: 3, bytes: usize::MAX };
    let open = file.db.verify_chains(&ChainFilter::default(), None, bounds).await.unwrap().open;
    assert_eq!(open.as_ref().map(|chain| chain.last), Some(3));
    prune(&file, 5).await;
    let rest = file.db.verify_chains(&ChainFilter::default(), open, VerifyBounds::ALL).await.unwrap();
    assert_eq!(rest.chains, verified(&file).await);
    assert_eq!((rest.chains[0].cut, rest.chains[0].last, rest.chains[0].flaw), (4, 6, None));
    file.damage("DELETE FROM journal WHERE tenant = 'acme/test' AND seq = 5").await;
    assert_eq!(verified(&file).await[0].flaw, Some(Flaw { seq: 5, kind: FlawKind::Missing }));
}

#[tokio::test]
async fn chain_emptied_by_retention_continues_with_the_next_number() {
    let file = with_lines(6).await;
    prune(&file, 100).await;
    let emptied = verified(&file).await;
    assert_eq!((emptied[0].cut, emptied[0].last, emptied[0].lines()), (6, 6, 0));
    let model = model(vec![]);
    let written = change(&model, 9, TENANT).edit(|changes| changes.journal = vec![line("9", Some("1.2.3"))]);
    file.db.writer().apply(&batch("b2", vec![written])).await.unwrap();
    let chain = &verified(&file).await[0];
    assert_eq!((chain.last, chain.lines(), chain.flaw), (7, 1, None));
}

#[tokio::test]
async fn retention_leaves_no_gap_if_lines_are_not_in_the_order_of_their_times() {
    let file = with_lines(6).await;
    // The call of line 3 began after that of line 4.
    file.damage("UPDATE journal SET at = 2000 WHERE tenant = 'acme/test' AND seq = 3").await;
    prune(&file, 5).await;
    let left = file.db.list_lines(&LineFilter::default(), None, ALL_LINES).await.unwrap().lines;
    let left: Vec<i64> = left.iter().filter(|line| line.tenant == TENANT).map(|line| line.seq).collect();
    assert_eq!(left, [6, 5, 4, 3]);
}

const ALL_LINES: LineBounds = LineBounds { lines: 100, examined: 100, bytes: 1_000 };

async fn list_all(database: &Database, filter: &LineFilter, bounds: LineBounds) -> (Vec<i64>, u32) {
    let (mut found, mut before, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = database.list_lines(filter, before, bounds).await.unwrap();
        found.extend(page.lines.iter().map(|line| line.seq));
        pages += 1;
        before = page.next;
        if before.is_none() {
            return (found, pages);
        }
    }
}

#[tokio::test]
async fn lines_are_listed_newest_first_in_pages_within_every_bound() {
    let file = with_lines(6).await;
    let acme = || LineFilter { plugin: Some("notes".into()), tenant: Some(TENANT.into()), ..LineFilter::default() };
    let [few, examined, bytes] = [(2, 100, 1_000), (100, 2, 1_000), (100, 100, 15)]
        .map(|(lines, examined, bytes)| LineBounds { lines, examined, bytes });
    for bounds in [ALL_LINES, few, examined, bytes] {
        let (found, pages) = list_all(&file.db, &acme(), bounds).await;
        assert_eq!(found, [6, 5, 4, 3, 2, 1]);
        assert_eq!(pages > 1, bounds.lines == 2 || bounds.examined == 2 || bounds.bytes == 15, "{bounds:?}");
        assert_eq!(list_all(&file.db, &LineFilter::default(), bounds).await.0, [1, 6, 5, 4, 3, 2, 1]);
    }
    let some = LineFilter { since: Some(1_002), until: Some(1_004), ..LineFilter::default() };
    assert_eq!(list_all(&file.db, &some, examined).await.0, [3, 2]);
    let none = LineFilter { operation: Some("undo".into()), ..acme() };
    assert_eq!(list_all(&file.db, &none, examined).await.0, Vec::<i64>::new());
    let other = LineFilter { tenant: Some("other/test".into()), operation: Some("do".into()), ..LineFilter::default() };
    assert_eq!(list_all(&file.db, &other, few).await.0, [1]);
}
