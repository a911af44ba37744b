//! Issued and revoked keys and tokens of concurrent calls, over a real file.

use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;

use super::*;
use crate::commit::committer::CommitError;
use crate::commit::draft::CallIdentity;
use crate::commit::testing::{Bench, call};

static SEEDS: AtomicU8 = AtomicU8::new(1);

/// Begins a call with a seed of its own.
fn begin(bench: &Bench, tenant: &str) -> Draft {
    let seed = [SEEDS.fetch_add(1, Ordering::Relaxed); 32];
    bench.committer.begin(CallIdentity { seed, ..call(&bench.model, tenant) })
}

async fn commit(bench: &Bench, draft: Draft) -> Result<(), CommitError> {
    bench.committer.commit(draft.into_changes(None), None).await
}

fn room(number: &str) -> Attribute {
    Attribute::parse(&format!("room={number}")).unwrap()
}

fn grant(kind: CredentialKind, number: &str, expires_at: Option<Timestamp>) -> Grant {
    Grant { kind, label: String::new(), attributes: vec![room(number)], scopes: Vec::new(), expires_at }
}

async fn issue(draft: &mut Draft, number: &str) -> Arc<str> {
    issue_until(draft, number, None).await
}

async fn issue_until(draft: &mut Draft, number: &str, expires_at: Option<Timestamp>) -> Arc<str> {
    let (new, _) = draft.make_credential(grant(CredentialKind::ApiKey, number, expires_at)).unwrap();
    let id = new.id.clone();
    draft.issue_credential(new).await.unwrap();
    id
}

async fn found(draft: &mut Draft, number: &str) -> Vec<Arc<str>> {
    draft.find_credentials(&room(number)).await.unwrap().into_iter().map(|credential| credential.id).collect()
}

#[tokio::test]
async fn call_finds_credentials_it_issued_and_not_those_it_revoked() {
    let bench = Bench::open().await;
    let mut draft = begin(&bench, "acme/test");
    let old = issue(&mut draft, "7").await;
    commit(&bench, draft).await.unwrap();
    let mut draft = begin(&bench, "acme/test");
    let new = issue(&mut draft, "7").await;
    let newest = issue(&mut draft, "7").await;
    assert_eq!(found(&mut draft, "7").await, [old.clone(), new.clone(), newest.clone()]);
    assert!(draft.revoke_credential(&old).await.unwrap());
    assert!(draft.revoke_credential(&new).await.unwrap());
    assert!(!draft.revoke_credential(&old).await.unwrap());
    assert_eq!(found(&mut draft, "7").await, std::slice::from_ref(&newest));
    commit(&bench, draft).await.unwrap();
    assert_eq!(found(&mut begin(&bench, "acme/test"), "7").await, [newest]);
}

#[tokio::test]
async fn revoked_credential_is_removed_from_all_attributes_and_counted_once() {
    let bench = Bench::open().await;
    let mut draft = begin(&bench, "acme/test");
    for number in ["7", "7", "8"] {
        issue(&mut draft, number).await;
    }
    commit(&bench, draft).await.unwrap();
    let mut draft = begin(&bench, "acme/test");
    issue(&mut draft, "7").await;
    assert_eq!(draft.revoke_credentials(&room("7")).await.unwrap(), 3);
    assert_eq!(draft.revoke_credentials(&room("7")).await.unwrap(), 0);
    assert_eq!((found(&mut draft, "7").await.len(), found(&mut draft, "8").await.len()), (0, 1));
    commit(&bench, draft).await.unwrap();
    assert_eq!(found(&mut begin(&bench, "acme/test"), "7").await.len(), 0);
}

#[tokio::test]
async fn credentials_of_another_tenant_are_neither_found_nor_revoked() {
    let bench = Bench::open().await;
    let mut draft = begin(&bench, "acme/test");
    let id = issue(&mut draft, "7").await;
    commit(&bench, draft).await.unwrap();
    for tenant in ["acme/live", "rival/test"] {
        let mut draft = begin(&bench, tenant);
        assert_eq!(found(&mut draft, "7").await.len(), 0);
        assert!(!draft.revoke_credential(&id).await.unwrap());
        assert_eq!(draft.revoke_credentials(&room("7")).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn refusal_issues_and_revokes_nothing() {
    let bench = Bench::open().await;
    let mut draft = begin(&bench, "acme/test");
    let id = issue(&mut draft, "7").await;
    commit(&bench, draft).await.unwrap();
    let mut draft = begin(&bench, "acme/test");
    issue(&mut draft, "7").await;
    assert!(draft.revoke_credential(&id).await.unwrap());
    bench.committer.commit(draft.into_refusal(), None).await.unwrap();
    assert_eq!(found(&mut begin(&bench, "acme/test"), "7").await, [id]);
}

#[tokio::test]
async fn concurrent_issue_after_an_empty_find_conflicts() {
    let bench = Bench::open().await;
    let (mut one, mut two) = (begin(&bench, "acme/test"), begin(&bench, "acme/test"));
    for draft in [&mut one, &mut two] {
        assert_eq!(found(draft, "7").await.len(), 0);
        issue(draft, "7").await;
    }
    commit(&bench, one).await.unwrap();
    assert!(matches!(commit(&bench, two).await, Err(CommitError::Conflict(_))));
}

#[tokio::test]
async fn concurrent_revocation_of_one_credential_conflicts_and_then_finds_nothing() {
    let bench = Bench::open().await;
    let mut draft = begin(&bench, "acme/test");
    let id = issue(&mut draft, "7").await;
    commit(&bench, draft).await.unwrap();
    let (mut one, mut two) = (begin(&bench, "acme/test"), begin(&bench, "acme/test"));
    assert!(one.revoke_credential(&id).await.unwrap() && two.revoke_credential(&id).await.unwrap());
    commit(&bench, one).await.unwrap();
    assert!(matches!(commit(&bench, two).await, Err(CommitError::Conflict(_))));
    assert!(!begin(&bench, "acme/test").revoke_credential(&id).await.unwrap());
}

#[tokio::test]
async fn expired_credential_is_neither_found_nor_revoked() {
    let bench = Bench::open().await;
    let mut draft = begin(&bench, "acme/test");
    let now = draft.call().now;
    let expired = issue_until(&mut draft, "7", Some(now)).await;
    let valid = issue_until(&mut draft, "7", Some(now + 1)).await;
    assert_eq!(found(&mut draft, "7").await, std::slice::from_ref(&valid));
    assert!(!draft.revoke_credential(&expired).await.unwrap(), "in the call that issued it");
    commit(&bench, draft).await.unwrap();
    let mut draft = begin(&bench, "acme/test");
    assert_eq!(found(&mut draft, "7").await, [valid]);
    assert!(!draft.revoke_credential(&expired).await.unwrap());
}

#[tokio::test]
async fn issue_beyond_the_limit_of_one_attribute_traps() {
    let bench = Bench::open().await;
    let mut last = None;
    for _ in 0..CREDENTIALS_LIVE_MAX / CREDENTIALS_ISSUED_MAX {
        let mut draft = begin(&bench, "acme/test");
        for _ in 0..CREDENTIALS_ISSUED_MAX {
            last = Some(issue(&mut draft, "7").await);
        }
        commit(&bench, draft).await.unwrap();
    }
    let last = last.unwrap();
    let mut draft = begin(&bench, "acme/test");
    let (new, _) = draft.make_credential(grant(CredentialKind::Token, "7", None)).unwrap();
    let error = draft.issue_credential(new).await.unwrap_err().to_string();
    assert!(error.contains("at most 1000 valid keys and tokens with one attribute: room=7"), "{error}");
    assert!(draft.revoke_credential(&last).await.unwrap());
    let (new, _) = draft.make_credential(grant(CredentialKind::Token, "7", None)).unwrap();
    draft.issue_credential(new).await.unwrap();
}

#[tokio::test]
async fn credential_listener_is_called_before_commit_returns() {
    let bench = Bench::open().await;
    let changes = Arc::new(Mutex::new(Vec::new()));
    bench.committer.set_credential_listener({
        let changes = changes.clone();
        Arc::new(move |change| {
            changes.lock().push(change.map(|(scope, change)| (scope.tenant().to_string(), change.clone())))
        })
    });
    let mut draft = begin(&bench, "acme/test");
    let id = issue(&mut draft, "7").await;
    commit(&bench, draft).await.unwrap();
    let mut draft = begin(&bench, "acme/test");
    draft.revoke_credential(&id).await.unwrap();
    commit(&bench, draft).await.unwrap();
    let changes = changes.lock();
    let [Some((tenant, issued)), Some((_, revoked))] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!((tenant.as_str(), issued.hash()), ("acme/test", revoked.hash()));
    assert!(matches!((issued, revoked), (CredentialChange::Issue(_), CredentialChange::Revoke(_))));
}

#[tokio::test]
async fn call_that_issues_too_many_credentials_traps() {
    let bench = Bench::open().await;
    let mut draft = begin(&bench, "acme/test");
    for number in 0..CREDENTIALS_ISSUED_MAX {
        issue(&mut draft, &number.to_string()).await;
    }
    let (new, _) = draft.make_credential(grant(CredentialKind::Token, "7", None)).unwrap();
    let error = draft.issue_credential(new).await.unwrap_err().to_string();
    assert!(error.contains("a call may issue at most 100 keys and tokens"), "{error}");
}
