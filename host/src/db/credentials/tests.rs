use std::sync::Arc;

use super::*;
use crate::changes::change_set::ChangeSet;
use crate::changes::credential::{CredentialChange, NewCredential, RevokedCredential};
use crate::db::testing::{TestFile, batch, change, model, scope};

fn room() -> Attribute {
    Attribute::parse("room=7").unwrap()
}

fn key(id: &str, hash: u8) -> NewCredential {
    NewCredential {
        id: id.into(),
        kind: CredentialKind::ApiKey,
        hash: [hash; 32],
        label: "mine".into(),
        owner: "owner_1".into(),
        scopes: Vec::new(),
        attributes: vec![room()],
        expires_at: None,
        sealed: Some(Arc::from([hash])),
    }
}

/// Applies changes as version `at`, which must be higher than all previous versions.
async fn write(file: &TestFile, at: u64, changes: Vec<CredentialChange>) {
    let model = model(vec![]);
    let mut accepted = change(&model, at, "acme/test");
    let plain = ChangeSet { credentials: changes, ..(*accepted.changes).clone() };
    accepted.changes = Arc::new(plain);
    file.db.writer().apply(&batch(&format!("b{at}"), vec![accepted])).await.unwrap();
}

async fn signer(file: &TestFile, now: Timestamp) -> Option<String> {
    file.db.find_issued_signer(&scope("notes", "acme/test"), &room(), now).await.unwrap().map(|key| key.id)
}

async fn count_of(file: &TestFile, table: &str) -> i64 {
    let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
    sqlx::query_scalar(sql).fetch_one(&*file.db.readers()).await.unwrap()
}

#[tokio::test]
async fn newest_valid_signing_key_with_the_attribute_signs() {
    let file = TestFile::with(&model(vec![])).await;
    assert_eq!(signer(&file, 2_000).await, None);
    write(&file, 1, vec![CredentialChange::Issue(key("key_a", 1))]).await;
    let ends = NewCredential { expires_at: Some(3_000), ..key("key_b", 2) };
    write(&file, 2, vec![CredentialChange::Issue(ends)]).await;
    let unsealed = NewCredential { sealed: None, ..key("key_c", 3) };
    write(&file, 3, vec![CredentialChange::Issue(unsealed)]).await;
    assert_eq!(signer(&file, 2_999).await.as_deref(), Some("key_b"));
    assert_eq!(signer(&file, 3_000).await.as_deref(), Some("key_a"));
    let ended = RevokedCredential { id: "key_a".into(), hash: [1; 32], attributes: vec![room()] };
    write(&file, 4, vec![CredentialChange::Revoke(ended)]).await;
    assert_eq!(signer(&file, 3_000).await, None);
    let keys = file.db.list_keys().await.unwrap();
    assert!(keys[0].revoked_at.is_some() && !keys[0].signs, "its copy is deleted");
}

#[tokio::test]
async fn key_of_a_plugin_is_not_found_as_signing_key_of_an_operator() {
    let file = TestFile::with(&model(vec![])).await;
    write(&file, 1, vec![CredentialChange::Issue(key("key_a", 1))]).await;
    let query = crate::db::keys::SigningKeyQuery { plugin: "notes", organization: "acme", environment: "test" };
    assert!(file.db.find_signing_key(query, 2_000).await.unwrap().is_none());
}

#[tokio::test]
async fn operators_can_revoke_a_key_of_a_plugin() {
    let file = TestFile::with(&model(vec![])).await;
    write(&file, 1, vec![CredentialChange::Issue(key("key_a", 1))]).await;
    let revoked = file.db.revoke_key("key_a", 2_000, None).await.unwrap().unwrap();
    assert_eq!((revoked.label.as_deref(), revoked.revoked_at, revoked.signs), (Some("mine"), Some(2_000), false));
    let here = scope("notes", "acme/test");
    assert_eq!(file.db.find_credentials(&here, &room(), 2_000).await.unwrap(), []);
    assert_eq!(file.db.find_credential(&here, "key_a", 2_000).await.unwrap(), None);
    assert_eq!(signer(&file, 2_000).await, None);
}

#[tokio::test]
async fn ended_credentials_are_deleted_with_their_attributes_and_guards() {
    let file = TestFile::with(&model(vec![])).await;
    let expired = NewCredential { expires_at: Some(5_000), ..key("key_a", 1) };
    let mut guarded = change(&model(vec![]), 1, "acme/test");
    let set = ChangeSet {
        credentials: vec![CredentialChange::Issue(expired)],
        guards: vec![room().guard().into()],
        ..(*guarded.changes).clone()
    };
    guarded.changes = Arc::new(set);
    file.db.writer().apply(&batch("b1", vec![guarded])).await.unwrap();
    write(&file, 2, vec![CredentialChange::Issue(NewCredential { expires_at: Some(9_000), ..key("key_b", 2) })]).await;
    assert_eq!(file.db.prune_credentials(5_000, &|| true).await.unwrap(), 0);
    assert_eq!(file.db.prune_credentials(5_001, &|| true).await.unwrap(), 1);
    assert_eq!(
        (count_of(&file, "keys").await, count_of(&file, "guards").await),
        (1, 1),
        "another key has the attribute"
    );
    assert_eq!(file.db.prune_credentials(9_001, &|| true).await.unwrap(), 1);
    for table in ["keys", "key_attributes", "guards"] {
        assert_eq!(count_of(&file, table).await, 0, "{table}");
    }
}
