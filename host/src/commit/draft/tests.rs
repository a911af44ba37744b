//! Reads and writes of single calls, over a real file.

use super::*;
use crate::changes::change_set::Transfer;
use crate::changes::effect::Effect;
use crate::changes::envelope::Envelope;
use crate::commit::committer::CommitError;
use crate::commit::testing::{Bench, call, decided_by, increment, model, number, transfer};
use crate::db::find::{Comparison, Condition, Query, Value};
use crate::limits::{CALL_COUNTERS_MAX, CALL_KEYS_MAX};

fn titled(title: &str) -> String {
    format!(r#"{{"n":1,"title":"{title}","kind":"plain"}}"#)
}

async fn insert(draft: &mut Draft, id: &str, body: String) -> Result<(), RecordError> {
    draft.insert("things", id, body).await.unwrap()
}

fn plain() -> Vec<Condition> {
    vec![Condition { field: "kind".into(), comparison: Comparison::Equal(Value::Text("plain".into())) }]
}

#[tokio::test]
async fn call_reads_its_own_writes() {
    let bench = Bench::open().await;
    let mut draft = bench.begin();
    insert(&mut draft, "one", titled("a")).await.unwrap();
    increment(&mut draft, "one").await.unwrap();
    assert_eq!(number(&draft.get("things", "one").await.unwrap().unwrap().body), 2);
    draft.delete("things", "one").await.unwrap().unwrap();
    assert_eq!(draft.get("things", "one").await.unwrap(), None);
    assert_eq!(draft.delete("things", "one").await.unwrap(), Err(RecordError::NotFound));
}

#[tokio::test]
async fn record_errors_are_distinguished() {
    let bench = Bench::open().await;
    bench.run(async |draft| draft.insert("things", "one", titled("a")).await.map(Result::unwrap)).await.unwrap();
    let mut draft = bench.begin();
    assert_eq!(insert(&mut draft, "one", titled("b")).await, Err(RecordError::AlreadyExists));
    assert_eq!(insert(&mut draft, "two", titled("a")).await, Err(RecordError::NotUnique("by-title".into())));
    assert_eq!(insert(&mut draft, "two", titled(&"x".repeat(1 << 20))).await, Err(RecordError::TooLarge));
    assert_eq!(draft.replace("things", "two", titled("b")).await.unwrap(), Err(RecordError::NotFound));
}

#[tokio::test]
async fn invalid_arguments_are_misuse() {
    let bench = Bench::open().await;
    let mut draft = bench.begin();
    for (collection, id, body) in
        [("none", "one", "{}"), ("things", "", "{}"), ("things", "a\0", "{}"), ("things", "one", "{")]
    {
        let result = draft.insert(collection, id, body.to_owned()).await;
        assert!(matches!(result, Err(DraftError::Misuse(_))), "{result:?}");
    }
}

#[tokio::test]
async fn timer_replaces_one_that_a_concurrent_call_sets() {
    let bench = Bench::open().await;
    let (mut first, mut second) = (bench.begin(), bench.begin());
    first.schedule("ring", "one", 10, "1".into()).unwrap();
    second.schedule("ring", "one", 20, "2".into()).unwrap();
    bench.committer.commit(first.into_changes(None), None).await.unwrap();
    bench.committer.commit(second.into_changes(None), None).await.unwrap();
    let mut draft = bench.begin();
    let timer = draft.find_timer("ring:one").await.unwrap().unwrap().value;
    assert_eq!((timer.due, timer.payload.get()), (Some(20), "2"));
    assert!(draft.cancel_task("ring", "one").await.unwrap());
}

#[tokio::test]
async fn two_records_can_swap_unique_values() {
    let bench = Bench::open().await;
    let fill = async |draft: &mut Draft| {
        draft.insert("things", "one", titled("a")).await?.unwrap();
        draft.insert("things", "two", titled("b")).await.map(Result::unwrap)
    };
    bench.run(fill).await.unwrap();
    let swap = async |draft: &mut Draft| {
        draft.replace("things", "one", r#"{"n":1}"#.into()).await?.unwrap();
        draft.replace("things", "two", titled("a")).await?.unwrap();
        draft.replace("things", "one", titled("b")).await.map(Result::unwrap)
    };
    bench.run(swap).await.unwrap();
    let mut draft = bench.begin();
    assert!(draft.get("things", "one").await.unwrap().unwrap().body.contains(r#""b""#));
    assert_eq!(insert(&mut draft, "three", titled("a")).await, Err(RecordError::NotUnique("by-title".into())));
}

#[tokio::test]
async fn freed_unique_value_can_be_taken_in_the_same_call() {
    let bench = Bench::open().await;
    for round in 0..20 {
        let (old, new) = (format!("thing-{round}"), format!("thing-{}", round + 1));
        let transfer_title = async |draft: &mut Draft| {
            if draft.get("things", &old).await?.is_some() {
                draft.delete("things", &old).await?.unwrap();
            }
            draft.insert("things", &new, titled("crown")).await.map(Result::unwrap)
        };
        bench.run(transfer_title).await.unwrap();
    }
    assert_eq!(bench.stored("thing-20").await, Some(1));
}

#[tokio::test]
async fn find_returns_records_accepted_before() {
    let bench = Bench::open().await;
    let mut writer = bench.begin();
    insert(&mut writer, "one", titled("a")).await.unwrap();
    let commit = bench.committer.commit(writer.into_changes(None), None);
    let mut reader = bench.begin();
    let read = async {
        tokio::task::yield_now().await;
        let query = Query { conditions: plain(), limit: 10, ..Query::default() };
        let page = reader.find("things", &query).await.unwrap();
        (page.entries.len(), reader.count("things", &plain(), 10).await.unwrap())
    };
    let (committed, found) = tokio::join!(commit, read);
    committed.unwrap();
    assert_eq!(found, (1, 1));
}

fn all_plain() -> Query {
    Query { conditions: plain(), limit: 10, ..Query::default() }
}

/// Returns a call without changes that read a record, and then found a newer version of it.
async fn reader_of_two_versions(bench: &Bench, titles: (&str, &str)) -> Draft {
    let mut reader = bench.begin();
    let read = reader.get("things", "one").await.unwrap().unwrap();
    assert_eq!(&*read.body, titled(titles.0));
    let change = async |draft: &mut Draft| draft.replace("things", "one", titled(titles.1)).await.map(Result::unwrap);
    bench.run(change).await.unwrap();
    let page = reader.find("things", &all_plain()).await.unwrap();
    assert_eq!(&*page.entries[0].body, titled(titles.1));
    reader
}

#[tokio::test]
async fn call_without_changes_that_reads_two_versions_of_a_record_conflicts() {
    let bench = Bench::open().await;
    bench.run(async |draft| draft.insert("things", "one", titled("a")).await.map(Result::unwrap)).await.unwrap();
    let reader = reader_of_two_versions(&bench, ("a", "b")).await;
    let committed = bench.committer.commit(reader.into_changes(None), None).await;
    assert!(matches!(committed, Err(CommitError::Conflict(_))), "{committed:?}");
    let reader = reader_of_two_versions(&bench, ("b", "c")).await;
    let registered = bench.committer.register_reads(reader.into_changes(None)).await;
    assert!(matches!(registered, Err(CommitError::Conflict(_))));
}

#[tokio::test]
async fn call_without_changes_that_reads_one_version_of_each_record_is_not_checked() {
    let bench = Bench::open().await;
    bench.run(async |draft| draft.insert("things", "one", titled("a")).await.map(Result::unwrap)).await.unwrap();
    let mut reader = bench.begin();
    reader.get("things", "one").await.unwrap();
    reader.find("things", &all_plain()).await.unwrap();
    bench.run(async |draft| increment(draft, "one").await).await.unwrap();
    bench.committer.commit(reader.into_changes(None), None).await.unwrap();
}

#[tokio::test]
async fn call_that_uses_all_its_keys_finds_records_that_it_has_read() {
    let bench = Bench::open().await;
    bench.run(async |draft| draft.insert("things", "one", titled("a")).await.map(Result::unwrap)).await.unwrap();
    let mut draft = bench.begin();
    draft.get("things", "one").await.unwrap();
    let scope = draft.scope().unwrap();
    for number in draft.seen.len()..CALL_KEYS_MAX {
        let key = Key { scope: scope.clone(), space: Space::Guard, name: number.to_string().into() };
        draft.note(key, 0, Content::Absent).unwrap();
    }
    assert_eq!(draft.find("things", &all_plain()).await.unwrap().entries.len(), 1);
    let beyond = draft.get("things", "two").await;
    assert!(matches!(beyond, Err(DraftError::Limit(_))), "{beyond:?}");
}

fn of_title(title: &str) -> Query {
    let comparison = Comparison::Equal(Value::Text(title.into()));
    Query { conditions: vec![Condition { field: "title".into(), comparison }], limit: 1, ..Query::default() }
}

#[tokio::test]
async fn find_by_unique_index_excludes_writes_of_the_same_call() {
    let bench = Bench::open().await;
    bench.run(async |draft| draft.insert("things", "one", titled("a")).await.map(Result::unwrap)).await.unwrap();
    let mut draft = bench.begin();
    insert(&mut draft, "two", titled("b")).await.unwrap();
    let found = draft.find("things", &of_title("a")).await.unwrap();
    assert_eq!(found.entries.iter().map(|entry| &*entry.id).collect::<Vec<_>>(), ["one"]);
    assert_eq!(draft.find("things", &of_title("b")).await.unwrap(), FoundPage::default());
}

#[tokio::test]
async fn find_that_missed_a_unique_value_conflicts_with_its_later_insert() {
    let bench = Bench::open().await;
    let mut draft = bench.begin();
    assert_eq!(draft.find("things", &of_title("a")).await.unwrap(), FoundPage::default());
    increment(&mut draft, "other").await.unwrap();
    bench.run(async |draft| draft.insert("things", "one", titled("a")).await.map(Result::unwrap)).await.unwrap();
    let result = bench.committer.commit(draft.into_changes(None), None).await;
    assert!(matches!(result, Err(CommitError::Conflict(_))), "{result:?}");
    let found = bench.begin().find("things", &of_title("a")).await.unwrap();
    assert_eq!(found.entries.len(), 1);
}

#[tokio::test]
async fn anonymous_call_finds_nothing_and_changes_nothing() {
    let bench = Bench::open().await;
    bench.run(async |draft| increment(draft, "one").await).await.unwrap();
    let mut draft = bench.committer.begin(call(&bench.model, ""));
    assert_eq!(draft.get("things", "one").await.unwrap(), None);
    assert_eq!(draft.find("things", &Query { limit: 10, ..Query::default() }).await.unwrap(), FoundPage::default());
    assert!(matches!(draft.insert("things", "two", "{}".into()).await, Err(DraftError::Misuse(_))));
    assert!(matches!(draft.emit(&Envelope::default(), ("a", "b"), "{}", None), Err(DraftError::Misuse(_))));
    bench.committer.commit(draft.into_changes(None), None).await.unwrap();
}

#[tokio::test]
async fn records_of_other_tenants_are_not_found() {
    let bench = Bench::open().await;
    bench.run(async |draft| increment(draft, "one").await).await.unwrap();
    for tenant in ["acme/live", "other/test"] {
        let mut draft = bench.committer.begin(call(&bench.model, tenant));
        assert_eq!(draft.get("things", "one").await.unwrap(), None);
    }
}

#[tokio::test]
async fn record_of_a_newer_data_version_is_unreadable() {
    let bench = Bench::open().await;
    let newer = model(2, Some(1));
    let mut draft = bench.committer.begin(call(&newer, "acme/test"));
    increment(&mut draft, "one").await.unwrap();
    bench.committer.commit(draft.into_changes(None), None).await.unwrap();
    let result = bench.begin().get("things", "one").await;
    assert!(matches!(result, Err(DraftError::Unreadable { found: 2, .. })), "{result:?}");
}

#[tokio::test]
async fn event_ids_are_the_same_in_every_run_of_a_call() {
    let bench = Bench::open().await;
    let emit = || {
        let mut draft = bench.begin();
        let mut emit = || draft.emit(&Envelope::default(), ("thing.made", "one"), "{}", None).unwrap();
        [emit(), emit()]
    };
    let [first, second] = emit();
    assert_eq!(emit(), [first.clone(), second.clone()]);
    assert_ne!(first, second);
    assert_eq!(first.len(), "event_".len() + 32);
}

#[tokio::test]
async fn event_ids_of_later_calls_come_after_those_of_earlier_ones() {
    let bench = Bench::open().await;
    // Some ids share their random part, and others do not.
    let id = |now: u64, seed: u8| {
        let mut draft =
            bench.committer.begin(CallIdentity { now, seed: [seed; 32], ..call(&bench.model, "acme/test") });
        draft.emit(&Envelope::default(), ("thing.made", "one"), "{}", None).unwrap()
    };
    let ids: Vec<_> = (0..20).map(|step| id(5_000 + step * 100_000_000, u8::try_from(step % 7).unwrap())).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
}

#[tokio::test]
async fn numbers_are_never_returned_twice() {
    let bench = Bench::open().await;
    let mut draft = bench.begin();
    for expected in 1..=200 {
        assert_eq!(draft.next("invoice").await.unwrap(), expected);
    }
}

#[tokio::test]
async fn call_takes_numbers_of_a_bounded_number_of_counters() {
    let bench = Bench::open().await;
    let mut draft = bench.begin();
    for counter in 0..CALL_COUNTERS_MAX {
        assert_eq!(draft.next(&counter.to_string()).await.unwrap(), 1);
    }
    let refused = draft.next("another").await;
    assert!(matches!(refused, Err(DraftError::Misuse(_))), "{refused:?}");
    assert_eq!(draft.next("0").await.unwrap(), 2);
    assert_eq!(bench.begin().next("another").await.unwrap(), 1);
}

#[tokio::test]
async fn concurrent_transfers_cannot_overdraw_an_account() {
    let bench = Bench::open().await;
    let fund = async |draft: &mut Draft| {
        draft.open_external("bank").await?;
        draft.post(vec![transfer("fund", "bank", "ann", 100)]).await.map(Result::unwrap)
    };
    bench.run(fund).await.unwrap();
    let spend = |round: u32| {
        let bench = &bench;
        async move {
            let refused = std::cell::Cell::new(false);
            let id = format!("spend-{round}");
            let work = async |draft: &mut Draft| {
                let posted = draft.post(vec![transfer(&id, "ann", "bob", 30)]).await?;
                refused.set(posted.is_err());
                Ok(())
            };
            bench.run(work).await.unwrap();
            refused.get()
        }
    };
    let refused = futures_util::future::join_all((0..20).map(spend)).await;
    assert_eq!(refused.iter().filter(|refused| !**refused).count(), 3);
    let mut draft = bench.begin();
    assert_eq!(draft.balance("ann", "coin").await.unwrap(), 10);
    assert_eq!(draft.balances("bob").await.unwrap(), vec![(Arc::from("coin"), 90.into())]);
    assert_eq!(draft.balance("bank", "coin").await.unwrap(), -100);
}

#[tokio::test]
async fn balances_exclude_assets_that_were_only_read() {
    let bench = Bench::open().await;
    let mut draft = bench.begin();
    draft.balance("ann", "gold").await.unwrap();
    draft.require("ann", "silver", None, None).await.unwrap();
    assert_eq!(draft.balances("ann").await.unwrap().len(), 0);
    draft.open_external("bank").await.unwrap();
    draft.post(vec![transfer("t1", "bank", "ann", 5), transfer("t2", "ann", "bank", 5)]).await.unwrap().unwrap();
    assert_eq!(draft.balances("ann").await.unwrap(), vec![(Arc::from("coin"), 0.into())]);
}

#[tokio::test]
async fn ledger_errors_are_distinguished() {
    let bench = Bench::open().await;
    let mut draft = bench.begin();
    draft.open_external("bank").await.unwrap();
    let first = draft.post(vec![transfer("t1", "bank", "ann", 5), transfer("t2", "ann", "bob", 6)]).await.unwrap();
    assert_eq!(first, Err(LedgerError::Insufficient("ann".into())));
    assert_eq!(draft.balance("ann", "coin").await.unwrap(), 0);
    draft.post(vec![transfer("t1", "bank", "ann", 5), transfer("t2", "ann", "bob", 5)]).await.unwrap().unwrap();
    let again = draft.post(vec![transfer("t1", "bank", "ann", 5)]).await.unwrap();
    assert_eq!(again, Err(LedgerError::AlreadyPosted("t1".into())));
    let nothing = draft.post(vec![transfer("t3", "bank", "ann", 0)]).await.unwrap();
    assert!(matches!(nothing, Err(LedgerError::Malformed(_))));
    let mut most = transfer("t4", "bank", "ann", 1);
    most.amount = ethnum::I256::MAX;
    assert_eq!(
        draft.post(vec![most.clone(), Transfer { id: "t5".into(), ..most }]).await.unwrap(),
        Err(LedgerError::TooLarge)
    );
}

#[tokio::test]
async fn bound_that_never_held_is_a_fault_and_not_retried() {
    let bench = Bench::open().await;
    let require = async |draft: &mut Draft| {
        draft.append_journal(decided_by(), "{}".into())?;
        draft.require("ann", "coin", Some(5.into()), None).await
    };
    let result = bench.run(require).await;
    assert!(matches!(result, Err(CommitError::Poisoned(_))), "{result:?}");
}

#[tokio::test]
async fn record_that_an_index_would_reject_can_be_changed_if_it_is_older() {
    let bench = Bench::open().await;
    let things = crate::manifest::Collection { name: "things".into(), indexes: Vec::new() };
    let without = std::sync::Arc::new(DataModel::new("notes", &[things], 1, None).unwrap());
    for (id, body) in [("long", titled(&"x".repeat(600))), ("twice", r#"{"n":1,"title":"a","title":"b"}"#.to_owned())] {
        let mut draft = bench.committer.begin(call(&without, "acme/test"));
        insert(&mut draft, id, body).await.unwrap();
        bench.committer.commit(draft.into_changes(None), None).await.unwrap();
        bench.run(async |draft| draft.replace("things", id, titled("new")).await.map(Result::unwrap)).await.unwrap();
        bench.run(async |draft| draft.delete("things", id).await.map(Result::unwrap)).await.unwrap();
    }
}

/// Returns the model of the plugin before it declared any index.
fn model_without_indexes() -> std::sync::Arc<DataModel> {
    let things = crate::manifest::Collection { name: "things".into(), indexes: Vec::new() };
    std::sync::Arc::new(DataModel::new("notes", &[things], 1, None).unwrap())
}

#[tokio::test]
async fn call_maintains_unique_indexes_of_other_generations() {
    let bench = Bench::open().await;
    let older = model_without_indexes();
    bench.run(async |draft| draft.insert("things", "one", titled("a")).await.map(Result::unwrap)).await.unwrap();
    let mut draft = bench.committer.begin(call(&older, "acme/test"));
    assert_eq!(insert(&mut draft, "two", titled("a")).await, Err(RecordError::NotUnique("by-title".into())));
    draft.replace("things", "one", titled("b")).await.unwrap().unwrap();
    assert_eq!(insert(&mut draft, "two", titled("a")).await, Ok(()));
    bench.committer.commit(draft.into_changes(None), None).await.unwrap();
    let mut draft = bench.begin();
    assert_eq!(insert(&mut draft, "three", titled("a")).await, Err(RecordError::NotUnique("by-title".into())));
}

#[tokio::test]
async fn calls_accepted_before_a_new_unique_index_are_discarded() {
    use crate::db::model::PrepareOptions;
    let bench = Bench::open().await;
    let older = model_without_indexes();
    bench.database.prepare_model(&older, &PrepareOptions::default()).await.unwrap();
    let calls = ["one", "two"].map(|id| {
        let mut draft = bench.committer.begin(call(&older, "acme/test"));
        async move {
            insert(&mut draft, id, titled("a")).await.unwrap();
            draft.into_changes(None)
        }
    });
    let [one, two] = calls;
    let (one, two) = (one.await, two.await);
    bench.database.prepare_model(&bench.model, &PrepareOptions::default()).await.unwrap();
    let (one, two) = tokio::join!(bench.committer.commit(one, None), bench.committer.commit(two, None));
    // `Conflict` occurs if the idle writer has detected the swap before the commits.
    let runs_again = |outcome: &_| matches!(outcome, Err(CommitError::Discarded | CommitError::Conflict(_)));
    assert!(runs_again(&one) && runs_again(&two), "{one:?} {two:?}");
}

#[tokio::test]
async fn superseded_data_version_is_not_written() {
    let bench = Bench::open().await;
    let newer = model(2, Some(1));
    assert!(!bench.database.admit_model(&newer).await.unwrap());
    let mut began = bench.committer.begin(call(&newer, "acme/test"));
    insert(&mut began, "one", titled("a")).await.unwrap();
    assert!(bench.database.admit_model(&bench.model).await.unwrap());
    let lost = bench.committer.commit(began.into_changes(None), None).await;
    assert!(matches!(lost, Err(CommitError::Discarded)), "{lost:?}");
    let mut again = bench.committer.begin(call(&newer, "acme/test"));
    let refused = again.insert("things", "one", titled("a")).await;
    assert!(matches!(refused, Err(DraftError::Superseded(2))), "{refused:?}");
}

#[tokio::test]
async fn unique_index_is_correct_after_rollback_and_redeploy() {
    use crate::db::model::PrepareOptions;
    let bench = Bench::open().await;
    bench.run(async |draft| draft.insert("things", "one", titled("a")).await.map(Result::unwrap)).await.unwrap();
    let without = model_without_indexes();
    bench.database.prepare_model(&without, &PrepareOptions::default()).await.unwrap();
    let mut draft = bench.committer.begin(call(&without, "acme/test"));
    draft.replace("things", "one", titled("b")).await.unwrap().unwrap();
    bench.committer.commit(draft.into_changes(None), None).await.unwrap();
    let prepared = bench.database.prepare_model(&bench.model, &PrepareOptions::default()).await.unwrap();
    assert!(!prepared.steps.is_empty());
    bench.committer.clear_cache().await;
    let mut draft = bench.begin();
    assert_eq!(insert(&mut draft, "two", titled("a")).await, Ok(()));
    assert_eq!(insert(&mut draft, "three", titled("b")).await, Err(RecordError::NotUnique("by-title".into())));
}

#[tokio::test]
async fn effect_that_may_have_been_sent_before_a_restore_cannot_be_cancelled() {
    let (bench, mut cancelled) = (Bench::open().await, Vec::new());
    let call =
        r#""call":{"destination":"bank","method":"POST","path":"/","headers":[],"content":"empty","timeout-ms":0}"#;
    for (key, may_have_happened) in [("sure", false), ("doubted", true)] {
        let progress = format!(r#"{{"attempts":0,"under-way":false,"may-have-happened":{may_have_happened}}}"#);
        let then = r#""then":"paid","context":null,"delays":[]"#;
        let body = format!(r#"{{"due":0,{call},{then},"key":"{key}","progress":{progress}}}"#);
        let effect = Effect::parse(&body).unwrap();
        let mut draft = bench.begin();
        draft.put_effect(&effect.idempotency_key(), &effect).await.unwrap();
        cancelled.push(draft.cancel_effect("paid", key).await.unwrap());
    }
    assert_eq!(cancelled, [true, false]);
}
