//! What one call sees and may do, over a real file.

use super::*;
use crate::changes::change_set::Transfer;
use crate::changes::effect::Effect;
use crate::changes::envelope::Envelope;
use crate::commit::committer::CommitError;
use crate::commit::testing::{Bench, call, decided_by, increment, model, number, transfer};
use crate::db::find::{Comparison, Condition, Query, Value};
use crate::limits::CALL_COUNTERS_MAX;

fn titled(title: &str) -> String {
    format!(r#"{{"n":1,"title":"{title}","kind":"plain"}}"#)
}

async fn insert(draft: &mut Draft, id: &str, body: String) -> Result<(), RecordRefusal> {
    draft.insert("things", id, body).await.unwrap()
}

fn plain() -> Vec<Condition> {
    vec![Condition { field: "kind".into(), comparison: Comparison::Equal(Value::Text("plain".into())) }]
}

#[tokio::test]
async fn a_call_sees_its_own_writes() {
    let bench = Bench::open().await;
    let mut draft = bench.begin();
    insert(&mut draft, "one", titled("a")).await.unwrap();
    increment(&mut draft, "one").await.unwrap();
    assert_eq!(number(&draft.get("things", "one").await.unwrap().unwrap().body), 2);
    draft.delete("things", "one").await.unwrap().unwrap();
    assert_eq!(draft.get("things", "one").await.unwrap(), None);
    assert_eq!(draft.delete("things", "one").await.unwrap(), Err(RecordRefusal::NotFound));
}

#[tokio::test]
async fn records_are_refused_by_name() {
    let bench = Bench::open().await;
    bench.run(async |draft| draft.insert("things", "one", titled("a")).await.map(Result::unwrap)).await.unwrap();
    let mut draft = bench.begin();
    assert_eq!(insert(&mut draft, "one", titled("b")).await, Err(RecordRefusal::AlreadyExists));
    assert_eq!(insert(&mut draft, "two", titled("a")).await, Err(RecordRefusal::NotUnique("by-title".into())));
    assert_eq!(insert(&mut draft, "two", titled(&"x".repeat(1 << 20))).await, Err(RecordRefusal::TooLarge));
    assert_eq!(draft.replace("things", "two", titled("b")).await.unwrap(), Err(RecordRefusal::NotFound));
}

#[tokio::test]
async fn misuse_is_told_in_a_sentence() {
    let bench = Bench::open().await;
    let mut draft = bench.begin();
    for (collection, id, body) in
        [("none", "one", "{}"), ("things", "", "{}"), ("things", "a\0", "{}"), ("things", "one", "{")]
    {
        let told = draft.insert(collection, id, body.to_owned()).await;
        assert!(matches!(told, Err(DraftError::Misuse(_))), "{told:?}");
    }
}

#[tokio::test]
async fn timer_replaces_the_one_that_another_call_sets_meanwhile() {
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
async fn two_records_can_swap_what_is_unique() {
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
    assert_eq!(insert(&mut draft, "three", titled("a")).await, Err(RecordRefusal::NotUnique("by-title".into())));
}

#[tokio::test]
async fn a_title_that_was_given_up_can_be_taken_at_once() {
    let bench = Bench::open().await;
    for round in 0..20 {
        let (old, new) = (format!("thing-{round}"), format!("thing-{}", round + 1));
        let hand_over = async |draft: &mut Draft| {
            if draft.get("things", &old).await?.is_some() {
                draft.delete("things", &old).await?.unwrap();
            }
            draft.insert("things", &new, titled("crown")).await.map(Result::unwrap)
        };
        bench.run(hand_over).await.unwrap();
    }
    assert_eq!(bench.stored("thing-20").await, Some(1));
}

#[tokio::test]
async fn find_sees_what_was_accepted_before() {
    let bench = Bench::open().await;
    let mut writer = bench.begin();
    insert(&mut writer, "one", titled("a")).await.unwrap();
    let commit = bench.committer.commit(writer.into_changes(None), None);
    let mut reader = bench.begin();
    let look = async {
        tokio::task::yield_now().await;
        let query = Query { conditions: plain(), limit: 10, ..Query::default() };
        let page = reader.find("things", &query).await.unwrap();
        (page.entries.len(), reader.count("things", &plain(), 10).await.unwrap())
    };
    let (committed, found) = tokio::join!(commit, look);
    committed.unwrap();
    assert_eq!(found, (1, 1));
}

fn of_title(title: &str) -> Query {
    let comparison = Comparison::Equal(Value::Text(title.into()));
    Query { conditions: vec![Condition { field: "title".into(), comparison }], limit: 1, ..Query::default() }
}

#[tokio::test]
async fn what_a_unique_index_says_is_found_without_its_call_s_own_writes() {
    let bench = Bench::open().await;
    bench.run(async |draft| draft.insert("things", "one", titled("a")).await.map(Result::unwrap)).await.unwrap();
    let mut draft = bench.begin();
    insert(&mut draft, "two", titled("b")).await.unwrap();
    let found = draft.find("things", &of_title("a")).await.unwrap();
    assert_eq!(found.entries.iter().map(|entry| &*entry.id).collect::<Vec<_>>(), ["one"]);
    assert_eq!(draft.find("things", &of_title("b")).await.unwrap(), FoundPage::default());
}

#[tokio::test]
async fn who_missed_somebody_in_a_unique_index_conflicts_when_he_comes() {
    let bench = Bench::open().await;
    let mut draft = bench.begin();
    assert_eq!(draft.find("things", &of_title("a")).await.unwrap(), FoundPage::default());
    increment(&mut draft, "other").await.unwrap();
    bench.run(async |draft| draft.insert("things", "one", titled("a")).await.map(Result::unwrap)).await.unwrap();
    let told = bench.committer.commit(draft.into_changes(None), None).await;
    assert!(matches!(told, Err(CommitError::Conflict(_))), "{told:?}");
    let found = bench.begin().find("things", &of_title("a")).await.unwrap();
    assert_eq!(found.entries.len(), 1);
}

#[tokio::test]
async fn an_anonymous_call_finds_nothing_and_changes_nothing() {
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
async fn tenants_do_not_see_each_other() {
    let bench = Bench::open().await;
    bench.run(async |draft| increment(draft, "one").await).await.unwrap();
    for tenant in ["acme/live", "other/test"] {
        let mut draft = bench.committer.begin(call(&bench.model, tenant));
        assert_eq!(draft.get("things", "one").await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_record_of_a_newer_data_version_is_not_touched() {
    let bench = Bench::open().await;
    let newer = model(2, Some(1));
    let mut draft = bench.committer.begin(call(&newer, "acme/test"));
    increment(&mut draft, "one").await.unwrap();
    bench.committer.commit(draft.into_changes(None), None).await.unwrap();
    let told = bench.begin().get("things", "one").await;
    assert!(matches!(told, Err(DraftError::Unreadable { found: 2, .. })), "{told:?}");
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
    // With one random part for all, and with another one each.
    let id = |now: u64, seed: u8| {
        let mut draft =
            bench.committer.begin(CallIdentity { now, seed: [seed; 32], ..call(&bench.model, "acme/test") });
        draft.emit(&Envelope::default(), ("thing.made", "one"), "{}", None).unwrap()
    };
    let ids: Vec<_> = (0..20).map(|step| id(5_000 + step * 100_000_000, u8::try_from(step % 7).unwrap())).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
}

#[tokio::test]
async fn numbers_are_never_given_twice() {
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
async fn money_cannot_be_spent_twice() {
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
async fn transfers_are_refused_by_name() {
    let bench = Bench::open().await;
    let mut draft = bench.begin();
    draft.open_external("bank").await.unwrap();
    let first = draft.post(vec![transfer("t1", "bank", "ann", 5), transfer("t2", "ann", "bob", 6)]).await.unwrap();
    assert_eq!(first, Err(LedgerRefusal::Insufficient("ann".into())));
    assert_eq!(draft.balance("ann", "coin").await.unwrap(), 0);
    draft.post(vec![transfer("t1", "bank", "ann", 5), transfer("t2", "ann", "bob", 5)]).await.unwrap().unwrap();
    let again = draft.post(vec![transfer("t1", "bank", "ann", 5)]).await.unwrap();
    assert_eq!(again, Err(LedgerRefusal::AlreadyPosted("t1".into())));
    let nothing = draft.post(vec![transfer("t3", "bank", "ann", 0)]).await.unwrap();
    assert!(matches!(nothing, Err(LedgerRefusal::Malformed(_))));
    let mut most = transfer("t4", "bank", "ann", 1);
    most.amount = ethnum::I256::MAX;
    assert_eq!(
        draft.post(vec![most.clone(), Transfer { id: "t5".into(), ..most }]).await.unwrap(),
        Err(LedgerRefusal::TooLarge)
    );
}

#[tokio::test]
async fn a_bound_that_never_held_is_a_fault_and_not_run_for_ever() {
    let bench = Bench::open().await;
    let require = async |draft: &mut Draft| {
        draft.append_journal(decided_by(), "{}".into())?;
        draft.require("ann", "coin", Some(5.into()), None).await
    };
    let told = bench.run(require).await;
    assert!(matches!(told, Err(CommitError::Poisoned(_))), "{told:?}");
}

#[tokio::test]
async fn a_record_from_before_the_index_that_could_not_be_written_today_can_still_be_changed() {
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

/// The plugin as it was before it declared any index.
fn model_without_indexes() -> std::sync::Arc<DataModel> {
    let things = crate::manifest::Collection { name: "things".into(), indexes: Vec::new() };
    std::sync::Arc::new(DataModel::new("notes", &[things], 1, None).unwrap())
}

#[tokio::test]
async fn a_call_keeps_the_unique_indexes_that_its_own_generation_does_not_know() {
    let bench = Bench::open().await;
    let older = model_without_indexes();
    bench.run(async |draft| draft.insert("things", "one", titled("a")).await.map(Result::unwrap)).await.unwrap();
    let mut draft = bench.committer.begin(call(&older, "acme/test"));
    assert_eq!(insert(&mut draft, "two", titled("a")).await, Err(RecordRefusal::NotUnique("by-title".into())));
    draft.replace("things", "one", titled("b")).await.unwrap().unwrap();
    assert_eq!(insert(&mut draft, "two", titled("a")).await, Ok(()));
    bench.committer.commit(draft.into_changes(None), None).await.unwrap();
    let mut draft = bench.begin();
    assert_eq!(insert(&mut draft, "three", titled("a")).await, Err(RecordRefusal::NotUnique("by-title".into())));
}

#[tokio::test]
async fn what_was_accepted_before_a_unique_index_came_is_run_again() {
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
    // The second, if the idle writer has noticed the swap before the commits.
    let runs_again = |outcome: &_| matches!(outcome, Err(CommitError::Discarded | CommitError::Conflict(_)));
    assert!(runs_again(&one) && runs_again(&two), "{one:?} {two:?}");
}

#[tokio::test]
async fn nothing_is_written_that_the_generation_that_serves_cannot_read() {
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
async fn after_a_roll_back_and_forth_unique_means_what_the_database_says() {
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
    bench.committer.forget().await;
    let mut draft = bench.begin();
    assert_eq!(insert(&mut draft, "two", titled("a")).await, Ok(()));
    assert_eq!(insert(&mut draft, "three", titled("b")).await, Err(RecordRefusal::NotUnique("by-title".into())));
}

#[tokio::test]
async fn a_call_that_may_have_been_made_before_a_restore_cannot_be_taken_back() {
    let (bench, mut cancelled) = (Bench::open().await, Vec::new());
    let call =
        r#""call":{"destination":"bank","method":"POST","path":"/","headers":[],"content":"empty","timeout-ms":0}"#;
    for (key, doubted) in [("sure", false), ("doubted", true)] {
        let progress = format!(r#"{{"attempts":0,"under-way":false,"may-have-happened":{doubted}}}"#);
        let then = r#""then":"paid","context":null,"delays":[]"#;
        let body = format!(r#"{{"due":0,{call},{then},"key":"{key}","progress":{progress}}}"#);
        let effect = Effect::parse(&body).unwrap();
        let mut draft = bench.begin();
        draft.put_effect(&effect.idempotency_key(), &effect).await.unwrap();
        cancelled.push(draft.cancel_effect("paid", key).await.unwrap());
    }
    assert_eq!(cancelled, [true, false]);
}
