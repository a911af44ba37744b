use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::time::Instant;

use super::*;
use crate::{
    budget::{Budget, MemoryConfig},
    capability::{Facts, Inputs, Questions, Shared},
    commit::draft::CallIdentity,
    commit::testing::{Bench, call, decided_by, scope},
    config::PluginLimits,
    fair::{
        Request,
        cores::{CoreUse, Cores},
    },
    limits::PASSWORDS_MAX,
    secrets::{SealingRoot, key_text::hash_text},
};

/// Starts one run of a call. Runs with the same seed issue the same credentials.
fn run(bench: &Bench, tenant: &str, seed: u8) -> CallState {
    let facts = Facts {
        plugin: "notes".into(),
        generation: 1,
        decided_by: decided_by(),
        limits: PluginLimits::default(),
        settings: Default::default(),
        shared: Shared::bare(),
        shows_private_keys: false,
        operator_destinations: Default::default(),
        event_types: HashMap::new(),
        tasks: Default::default(),
        log: crate::capability::LogLimits::bare(),
        sampling: Default::default(),
    };
    let inputs = Inputs { request_id: "request_1".into(), now: 1_000, seed: [seed; 32] };
    let identity = CallIdentity { seed: [seed; 32], ..call(&bench.model, tenant) };
    CallState::new(Arc::new(facts), &inputs, Box::new(bench.committer.begin(identity)), Questions::default())
}

async fn commit(bench: &Bench, state: CallState) {
    bench.committer.commit(state.into_parts().0.into_changes(None), None).await.unwrap();
}

fn pair(name: &str, value: &str) -> Pair {
    Pair { name: name.to_owned(), value: value.to_owned() }
}

fn grant() -> wit::Grant {
    wit::Grant {
        label: "for tests".into(),
        attributes: vec![pair("room", "7")],
        scopes: vec!["read".into()],
        expires_at: None,
        signs: false,
    }
}

fn trap_message<T: std::fmt::Debug>(trapped: wasmtime::Result<T>) -> String {
    trapped.unwrap_err().to_string()
}

#[tokio::test]
async fn issued_credential_has_its_prefix_and_its_text_is_not_in_the_change_set() {
    let bench = Bench::open().await;
    let mut state = run(&bench, "acme/test", 1);
    let key = state.issue_key(wit::Grant { signs: true, ..grant() }).await.unwrap();
    let token = state.issue_token(grant()).await.unwrap();
    assert!(key.secret.starts_with("tk_test_") && key.id.starts_with("key_"), "{key:?}");
    assert!(token.secret.starts_with("tok_test_") && token.id.starts_with("token_"), "{token:?}");
    let changes = state.into_parts().0.into_changes(None);
    let dump = format!("{:?}", changes.change_set().unwrap());
    for secret in [&key.secret, &token.secret] {
        assert!(dump.contains("for tests") && !dump.contains(&secret[9..]), "{dump}");
    }
}

#[tokio::test]
async fn runs_of_a_call_issue_the_same_key_and_other_calls_do_not() {
    let bench = Bench::open().await;
    let issue = async |seed| run(&bench, "acme/test", seed).issue_key(grant()).await.unwrap().secret;
    assert_eq!(issue(1).await, issue(1).await);
    assert_ne!(issue(1).await, issue(2).await);
}

#[tokio::test]
async fn invalid_grant_traps_with_its_reason() {
    let bench = Bench::open().await;
    let wrong = [
        (wit::Grant { attributes: vec![], ..grant() }, "1 to 8 attributes"),
        (
            wit::Grant { attributes: (0..9).map(|n| pair(&format!("n{n}"), "1")).collect(), ..grant() },
            "1 to 8 attributes",
        ),
        (wit::Grant { attributes: vec![pair("room", "7"), pair("room", "8")], ..grant() }, "is given twice"),
        (wit::Grant { attributes: vec![pair("a=b", "7")], ..grant() }, "the name of an attribute"),
        (wit::Grant { attributes: vec![pair("room", &"7".repeat(129))], ..grant() }, "the value of an attribute"),
        (wit::Grant { scopes: vec!["a,b".into()], ..grant() }, "scopes"),
        (wit::Grant { label: "x".repeat(201), ..grant() }, "a label"),
        (wit::Grant { label: "\u{7}".into(), ..grant() }, "a label"),
    ];
    for (grant, expected) in wrong {
        let message = trap_message(run(&bench, "acme/test", 1).issue_key(grant).await);
        assert!(message.contains(expected), "{message}");
    }
    let message = trap_message(run(&bench, "acme/test", 1).issue_token(wit::Grant { signs: true, ..grant() }).await);
    assert!(message.contains("a token cannot sign webhooks"), "{message}");
}

#[tokio::test]
async fn open_route_has_no_credentials() {
    let bench = Bench::open().await;
    let mut state = run(&bench, "", 1);
    assert!(trap_message(state.issue_key(grant()).await).contains("an open route has no tenant"));
    assert!(trap_message(state.revoke("key_1".into()).await).contains("an open route has no tenant"));
    assert!(trap_message(state.revoke_all(pair("room", "7")).await).contains("an open route has no tenant"));
    assert_eq!(state.find(pair("room", "7")).await.unwrap().len(), 0);
}

#[tokio::test]
async fn invalid_attribute_matches_no_credential() {
    let bench = Bench::open().await;
    let mut state = run(&bench, "acme/test", 1);
    for wrong in [pair("", "7"), pair("room", ""), pair("room", &"7".repeat(1_000))] {
        assert_eq!(state.find(wrong.clone()).await.unwrap().len(), 0);
        assert_eq!(state.revoke_all(wrong).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn sealed_copy_of_a_signing_key_opens_only_with_its_scope_and_id() {
    let bench = Bench::open().await;
    let mut state = run(&bench, "acme/test", 1);
    let key = state.issue_key(wit::Grant { signs: true, ..grant() }).await.unwrap();
    commit(&bench, state).await;
    let room = Attribute::parse("room=7").unwrap();
    let signer = bench.database.find_issued_signer(&scope("acme/test"), &room, 1_000).await.unwrap().unwrap();
    assert_eq!(signer.id, key.id);
    let root = SealingRoot::new(Default::default());
    let opened = root.open(&copy_name(&scope("acme/test"), &key.id), &signer.sealed).unwrap();
    assert_eq!(opened.as_slice(), key.secret.as_bytes());
    for name in [copy_name(&scope("acme/live"), &key.id), copy_name(&scope("acme/test"), "key_other")] {
        assert!(root.open(&name, &signer.sealed).is_err());
    }
    assert!(bench.database.find_issued_signer(&scope("other/test"), &room, 1_000).await.unwrap().is_none());
}

#[tokio::test]
async fn committed_credential_is_found_by_its_hash() {
    let bench = Bench::open().await;
    let mut state = run(&bench, "acme/test", 1);
    let token = state.issue_token(grant()).await.unwrap();
    assert!(bench.database.find_key_by_hash(&hash_text(&token.secret)).await.unwrap().is_none());
    commit(&bench, state).await;
    let stored = bench.database.find_key_by_hash(&hash_text(&token.secret)).await.unwrap().unwrap();
    assert_eq!(
        (&*stored.id, stored.kind, stored.label.as_deref()),
        (&*token.id, CredentialKind::Token, Some("for tests"))
    );
    assert_eq!(stored.attributes, [("room".to_owned(), "7".to_owned())]);
}

#[tokio::test]
async fn expiry_is_capped_at_its_maximum() {
    let bench = Bench::open().await;
    let mut state = run(&bench, "acme/test", 1);
    let key = state.issue_key(wit::Grant { expires_at: Some(u64::MAX), ..grant() }).await.unwrap();
    commit(&bench, state).await;
    assert_eq!(bench.database.list_keys().await.unwrap()[0].expires_at, Some(EXPIRES_AT_MAX));
    let found = run(&bench, "acme/test", 2).find(pair("room", "7")).await.unwrap();
    assert_eq!((&found[0].id, found[0].expires_at), (&key.id, Some(EXPIRES_AT_MAX)));
}

/// Computes the pending password of a run and records its outcome.
fn compute(state: &mut CallState) {
    let work = state.passwords().take_pending().unwrap();
    let outcome = work.compute();
    state.passwords().record(work, outcome);
}

#[tokio::test]
async fn run_traps_for_a_password_and_the_next_run_has_its_outcome() {
    let bench = Bench::open().await;
    let mut state = run(&bench, "", 1);
    assert!(trap_message(state.hash_password("open sesame".into()).await).contains("has to be computed first"));
    compute(&mut state);
    // The next run draws the same salt.
    let (_, questions) = state.into_parts();
    let mut state = run(&bench, "", 1);
    *state.questions() = questions;
    let hash = state.hash_password("open sesame".into()).await.unwrap();
    for (password, hash, expected) in
        [("open sesame", Some(&hash), true), ("open", Some(&hash), false), ("open sesame", None, false)]
    {
        let verify = async |state: &mut CallState| state.verify_password(password.into(), hash.cloned()).await;
        assert!(verify(&mut state).await.is_err());
        compute(&mut state);
        assert_eq!(verify(&mut state).await.unwrap(), expected);
    }
    assert!(trap_message(state.verify_password("x".into(), Some("plain".into())).await).contains("not a hash of"));
    assert!(trap_message(state.hash_password("x".repeat(2_000)).await).contains("at most 1024 bytes"));
    assert!(state.passwords().take_pending().is_none());
}

#[tokio::test]
async fn number_of_passwords_of_a_call_is_bounded() {
    let bench = Bench::open().await;
    let mut state = run(&bench, "", 1);
    for text in 0..PASSWORDS_MAX {
        state.verify_password(text.to_string(), None).await.unwrap_err();
        compute(&mut state);
    }
    assert!(trap_message(state.verify_password("one more".into(), None).await).contains("at most"));
    assert!(state.passwords().take_pending().is_none());
}

#[tokio::test]
async fn invalid_attribute_does_not_release_the_core_of_the_run() {
    let (bench, cores) = (Bench::open().await, Cores::new(1));
    let core = CoreUse::new(cores.clone(), ("notes".into(), "acme/test".into()));
    core.next_tick().await;
    let budget = Budget::new(&MemoryConfig { budget_bytes: 64 << 20, tenant_percent: 50 });
    let until = Instant::now() + Duration::from_secs(60);
    let charge = budget.charge_call(&"acme/test".into(), Request::of(10), until).await.unwrap();
    let mut state = run(&bench, "acme/test", 1).with_resources(charge, core);
    assert!(state.find(pair("", "7")).await.unwrap().is_empty());
    assert_eq!(state.revoke_all(pair("", "7")).await.unwrap(), 0);
    let other = CoreUse::new(cores.clone(), ("notes".into(), "globex/test".into()));
    assert_eq!(waiting_with(&cores, &other), 1);
    // A valid one waits for the database.
    assert!(state.find(pair("room", "7")).await.unwrap().is_empty());
    assert_eq!(waiting_with(&cores, &other), 0);
}

/// Returns how many runs wait for a core while this one requests its next tick.
fn waiting_with(cores: &Cores, run: &CoreUse) -> usize {
    let mut next_tick = Box::pin(run.next_tick());
    assert!((&mut next_tick).now_or_never().is_none());
    cores.waiting()
}
