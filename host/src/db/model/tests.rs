use std::sync::Arc;

use proptest::prelude::*;

use super::extract::{FieldTree, Strictness};
use super::{DataModel, ModelError, PrepareOptions};
use crate::changes::change_set::Field;
use crate::db::testing::{TestFile, batch, change, index, model, scope};
use crate::manifest;

const TENANT: &str = "acme/test";

fn extract(paths: &[&str], body: &str) -> Result<Vec<Field>, String> {
    let model = model(vec![index("all", paths, false)]);
    model.collection("things").unwrap().extract(body).map_err(|error| error.to_string())
}

fn text(value: &str) -> Field {
    Field::Text(value.into())
}

async fn prepare(file: &TestFile, model: &DataModel) -> Result<Vec<String>, ModelError> {
    let prepared = file.db.prepare_model(model, &PrepareOptions::default()).await;
    // The committer does the same. No decisions were made here.
    file.db.trust_current_state().await.unwrap();
    prepared.map(|prepared| prepared.steps)
}

async fn put(file: &TestFile, model: &Arc<DataModel>, bodies: &[(&str, &str)]) {
    let next = file.db.latest_version().await.unwrap() + 1;
    let changes = (next..).zip(bodies).map(|(version, (id, body))| change(model, version, TENANT).put(id, body));
    file.db.writer().apply(&batch(&format!("b{next}"), changes.collect())).await.unwrap();
}

/// Returns the id of the record that occupies the slot of `body` in the first unique index.
async fn holder(file: &TestFile, model: &DataModel, body: &str) -> Option<Arc<str>> {
    let things = model.collection("things").unwrap();
    let index = things.indexes.first().unwrap();
    let fields = things.extract(body).unwrap();
    file.db.find_slot(&scope("notes", TENANT), things, index, &fields).await.unwrap().map(|(id, _)| id)
}

#[test]
fn indexed_values_are_extracted_in_the_order_of_the_columns() {
    let paths = ["a", "b.c", "b", "d", "e", "missing.far"];
    let body = r#"{"b":{"c":2.5,"x":[{"a":9}]},"a":"né","d":true,"e":[1],"missing":{"near":1}}"#;
    let expected = [text("né"), Field::Real(2.5), Field::Null, Field::Integer(1), Field::Null, Field::Null];
    assert_eq!(extract(&paths, body).unwrap(), expected);
    assert_eq!(extract(&["a"], "5").unwrap(), [Field::Null]);
}

#[test]
fn whole_number_is_an_integer_in_any_notation() {
    for body in [r#"{"a":1}"#, r#"{"a":1.0}"#, r#"{"a":10e-1}"#, r#"{"a":true}"#] {
        assert_eq!(extract(&["a"], body).unwrap(), [Field::Integer(1)], "{body}");
    }
    assert_eq!(extract(&["a"], r#"{"a":-0.0}"#).unwrap(), [Field::Integer(0)]);
    assert_eq!(extract(&["a"], r#"{"a":18446744073709551615}"#).unwrap(), [Field::Real(18446744073709551615.0)]);
}

#[test]
fn invalid_json_or_a_value_that_cannot_be_indexed_is_rejected() {
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(513));
    let cases = [
        ("", "EOF"),
        ("{} {}", "trailing"),
        (r#"{"x":[1,}"#, "expected value"),
        (&deep, "deeper than 64"),
        (&long, "512 bytes"),
        (r#"{"a":"\u0000"}"#, "no NUL"),
        (r#"{"a":1,"a":2}"#, "twice"),
    ];
    for (body, part) in cases {
        let error = extract(&["a"], body).unwrap_err();
        assert!(error.contains(part), "{body}: {error}");
    }
    assert!(extract(&["b"], &long).is_ok());
    assert!(extract(&["a"], r#"{"a":"[[[[\"[["}"#).is_ok());
}

#[test]
fn first_duplicate_member_counts_in_every_column_of_a_wide_table() {
    let paths: Vec<String> = (0..70).map(|column| format!("c{column}")).collect();
    let tree = FieldTree::new(paths.iter().map(String::as_str));
    for (column, path) in paths.iter().enumerate() {
        let body = format!(r#"{{"{path}":1,"{path}":2}}"#);
        let fields = tree.extract(&body, Strictness::Lenient).unwrap();
        assert_eq!(fields[column], Field::Integer(1), "{path}");
        let error = tree.extract(&body, Strictness::Reject).unwrap_err().to_string();
        assert!(error.contains("twice"), "{path}: {error}");
    }
}

#[test]
fn brackets_count_as_levels_only_if_they_nest() {
    let deep = format!("{}{}", "[".repeat(64), "]".repeat(64));
    let flat = format!("[{}{{}}]", "[],".repeat(100));
    let text = format!(r#"["{}"]"#, "[".repeat(100));
    for body in [&deep, &flat, &text] {
        assert_eq!(extract(&["a"], body).unwrap(), [Field::Null], "{body}");
    }
    assert!(extract(&["a"], &format!("[{flat},[{deep}]]")).unwrap_err().contains("deeper than 64"));
}

#[tokio::test]
async fn stored_value_that_cannot_be_parsed_is_null_in_a_later_index() {
    let before = model(vec![]);
    let file = TestFile::with(&before).await;
    let bodies = [r#"{"n":1e999}"#, r#"{"n":-1e999}"#, r#"{"n":"\ud800"}"#, r#"{"n":{"\ud800":1}}"#, r#"{"n":7}"#];
    let ids = ["a", "b", "c", "d", "e"];
    put(&file, &before, &ids.into_iter().zip(bodies).collect::<Vec<_>>()).await;
    let after = model(vec![index("by-n", &["n"], true), index("by-far", &["n.far"], false)]);
    prepare(&file, &after).await.unwrap();
    assert_eq!(holder(&file, &after, r#"{"n":7}"#).await.as_deref(), Some("e"));
    let things = after.collection("things").unwrap();
    for body in &bodies[..4] {
        assert_eq!(things.extract_stored(body).unwrap(), [Field::Null, Field::Null], "{body}");
    }
    assert!(things.extract(bodies[0]).is_err(), "a new write is rejected");
}

#[test]
fn slot_names_are_equal_for_equal_values_and_none_if_a_value_is_null() {
    let model = model(vec![index("pair", &["a", "b"], true)]);
    let things = model.collection("things").unwrap();
    let slot = |body: &str| things.slot_name(&things.indexes[0], &things.extract(body).unwrap());
    assert_eq!(slot(r#"{"a":1,"b":"x\"y"}"#).as_deref(), Some(r#"[1,"x\"y"]"#));
    assert_eq!(slot(r#"{"a":1.0,"b":"x"}"#), slot(r#"{"b":"x","a":true}"#));
    assert_ne!(slot(r#"{"a":"1","b":"x"}"#), slot(r#"{"a":1,"b":"x"}"#));
    assert_eq!(slot(r#"{"a":1}"#), None);
}

#[test]
fn error_of_an_invalid_manifest_names_the_mistake() {
    let error = |plugin: &str, name: &str, indexes: Vec<manifest::Index>, versions: (u32, Option<u32>)| {
        let things = manifest::Collection { name: name.into(), indexes };
        DataModel::new(plugin, &[things], versions.0, versions.1).unwrap_err().to_string()
    };
    assert!(error("Notes", "things", vec![], (1, None)).contains("plugin \"Notes\""));
    assert!(error("sqlite", "things", vec![], (1, None)).contains("sqlite"));
    assert!(error("notes", "my_things", vec![], (1, None)).contains("my_things"));
    assert!(error("notes", "things", vec![], (2, Some(3))).contains("reads-data-from 3"));
    assert!(error("notes", "things", vec![index("i", &["a\" b"], false)], (1, None)).contains("not a path"));
    assert!(error("notes", "things", vec![index("i", &["@id"], true)], (1, None)).contains("unique"));
    assert!(error("notes", "things", vec![index("i", &[], false)], (1, None)).contains("1 to 8 fields"));
}

#[tokio::test]
async fn collection_with_the_name_of_a_host_table_is_rejected() {
    let file = TestFile::with(&model(vec![])).await;
    let attributes = [manifest::Collection { name: "attributes".into(), indexes: vec![] }];
    let keys = DataModel::new("key", &attributes, 1, None).unwrap();
    let error = prepare(&file, &keys).await.unwrap_err().to_string();
    assert!(error.contains("collection attributes: the table key_attributes is one of the host's"), "{error}");
}

#[tokio::test]
async fn new_index_is_filled_from_existing_records() {
    let old = model(vec![]);
    let file = TestFile::with(&old).await;
    let bodies: Vec<(String, String)> =
        (0..1_200).map(|n| (format!("id{n}"), format!(r#"{{"Name":"n{n}","rank":{n}}}"#))).collect();
    let bodies: Vec<(&str, &str)> = bodies.iter().map(|(id, body)| (id.as_str(), body.as_str())).collect();
    put(&file, &old, &bodies).await;
    let new = model(vec![index("by-name", &["Name", "rank"], true)]);
    let checked = file.db.check_model(&new, &PrepareOptions::default()).await.unwrap().steps;
    assert_eq!(prepare(&file, &new).await.unwrap(), checked);
    assert_eq!(checked.len(), 3, "{checked:?}");
    assert_eq!(holder(&file, &new, bodies[1_199].1).await.as_deref(), Some("id1199"));
    assert_eq!(holder(&file, &new, bodies[0].1).await.as_deref(), Some("id0"));
    assert!(prepare(&file, &new).await.unwrap().is_empty());
}

#[tokio::test]
async fn writes_of_an_older_generation_fill_the_columns_of_a_newer_one() {
    let old = model(vec![]);
    let file = TestFile::with(&old).await;
    let new = model(vec![index("by-name", &["name"], true)]);
    prepare(&file, &new).await.unwrap();
    put(&file, &old, &[("late", r#"{"name":"n"}"#)]).await;
    assert_eq!(holder(&file, &new, r#"{"name":"n"}"#).await.as_deref(), Some("late"));
    // The same holds after a restart.
    file.db.close().await.unwrap();
    let db = crate::db::Database::open(&file.url(), &crate::db::DbOptions::default()).await.unwrap();
    let file = TestFile { db, folder: file.folder };
    put(&file, &old, &[("late", r#"{"name":"m"}"#)]).await;
    assert_eq!(holder(&file, &new, r#"{"name":"m"}"#).await.as_deref(), Some("late"));
    assert_eq!(holder(&file, &new, r#"{"name":"n"}"#).await, None);
}

#[tokio::test]
async fn unique_index_over_duplicates_is_rejected_and_changes_nothing() {
    let old = model(vec![]);
    let file = TestFile::with(&old).await;
    put(&file, &old, &[("a", r#"{"name":1}"#), ("b", r#"{"name":1.0}"#), ("c", "{}"), ("d", "{}")]).await;
    let error = prepare(&file, &model(vec![index("by-name", &["name"], true)])).await.unwrap_err();
    assert!(matches!(&error, ModelError::NotUnique { count: 1, examples, .. } if examples == &["a"]), "{error}");
    let columns: i64 = sqlx::query_scalar("SELECT count(*) FROM pragma_table_info('notes_things')")
        .fetch_one(&*file.db.readers())
        .await
        .unwrap();
    assert_eq!(columns, 7);
}

#[tokio::test]
async fn removed_unique_index_is_no_longer_enforced_and_can_be_declared_again() {
    let strict = model(vec![index("by-name", &["name"], true)]);
    let file = TestFile::with(&strict).await;
    let loose = model(vec![]);
    prepare(&file, &loose).await.unwrap();
    put(&file, &loose, &[("a", r#"{"name":1}"#), ("b", r#"{"name":1}"#)]).await;
    assert!(matches!(prepare(&file, &strict).await, Err(ModelError::NotUnique { .. })));
    put(&file, &loose, &[("b", r#"{"name":2}"#)]).await;
    prepare(&file, &strict).await.unwrap();
    assert_eq!(holder(&file, &strict, r#"{"name":2}"#).await.as_deref(), Some("b"));
}

#[tokio::test]
async fn generation_that_cannot_read_existing_data_is_rejected() {
    let first = model(vec![]);
    let file = TestFile::with(&first).await;
    let things = [manifest::Collection { name: "things".into(), indexes: vec![] }];
    put(&file, &first, &[("a", "{}")]).await;
    let third = DataModel::new("notes", &things, 3, Some(2)).unwrap();
    let error = prepare(&file, &third).await.unwrap_err();
    assert!(matches!(error, ModelError::CannotRead { written: 1, reads_from: 2, .. }), "{error}");
    let second = Arc::new(DataModel::new("notes", &things, 2, Some(1)).unwrap());
    prepare(&file, &second).await.unwrap();
    prepare(&file, &first).await.unwrap();
    let written = change(&second, 2, TENANT).put("b", "{}").edit(|changes| {
        changes.records[0].after.as_mut().unwrap().data_version = 2;
    });
    file.db.writer().apply(&batch("second", vec![written])).await.unwrap();
    let error = prepare(&file, &first).await.unwrap_err();
    assert!(matches!(error, ModelError::CannotRead { written: 2, reads_to: 1, .. }), "{error}");
}

#[tokio::test]
async fn search_for_old_records_does_not_hold_the_write_lock() {
    let first = model(vec![]);
    let file = TestFile::with(&first).await;
    let things = [manifest::Collection { name: "things".into(), indexes: vec![] }];
    let second = DataModel::new("notes", &things, 2, Some(2)).unwrap();
    // A search waits for a permit, so it cannot end before the writes.
    let permits = [file.db.begin_operator_search().await.unwrap(), file.db.begin_operator_search().await.unwrap()];
    let mut admitted = Box::pin(file.db.admit_model(&second));
    let write = async {
        for number in 0..20 {
            put(&file, &first, &[(&format!("old{number}"), "{}")]).await;
        }
    };
    tokio::select! {
        biased;
        done = &mut admitted => panic!("it returned without a search: {done:?}"),
        () = write => {}
    }
    for permit in permits {
        permit.finish();
    }
    let error = admitted.await.unwrap_err();
    assert!(matches!(error, ModelError::CannotRead { written: 1, reads_from: 2, .. }), "{error}");
}

#[tokio::test]
async fn searched_table_is_not_searched_again() {
    let file = TestFile::with(&model(vec![])).await;
    let things = [manifest::Collection { name: "things".into(), indexes: vec![] }];
    let second = DataModel::new("notes", &things, 2, Some(2)).unwrap();
    prepare(&file, &second).await.unwrap();
    // A search would wait for a permit.
    let _permits = [file.db.begin_operator_search().await.unwrap(), file.db.begin_operator_search().await.unwrap()];
    let again = async {
        prepare(&file, &second).await.unwrap();
        file.db.admit_model(&second).await.unwrap()
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), again).await.expect("it searched");
}

#[tokio::test]
async fn old_record_written_after_a_search_is_found_by_the_next_admission() {
    let first = model(vec![]);
    let file = TestFile::with(&first).await;
    let things = [manifest::Collection { name: "things".into(), indexes: vec![] }];
    let second = DataModel::new("notes", &things, 2, Some(2)).unwrap();
    file.db.admit_model(&second).await.unwrap();
    put(&file, &first, &[("old", "{}")]).await;
    let error = file.db.admit_model(&second).await.unwrap_err();
    assert!(matches!(error, ModelError::CannotRead { written: 1, .. }), "{error}");
    file.db.writer().apply(&batch("gone", vec![change(&first, 9, TENANT).delete("old")])).await.unwrap();
    file.db.admit_model(&second).await.unwrap();
}

#[tokio::test]
async fn index_that_would_block_writes_for_long_is_rejected_unless_allowed() {
    let old = model(vec![]);
    let file = TestFile::with(&old).await;
    let insert = sqlx::query(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 210000) \
         INSERT INTO notes_things SELECT 't', 'x' || i, 1, 1, '1', 1, 1 FROM n",
    );
    file.db.execute(insert).await.unwrap();
    let new = model(vec![index("by-time", &["@updated-at"], false)]);
    let seconds = |index_seconds_max| PrepareOptions { index_seconds_max };
    let error = file.db.prepare_model(&new, &seconds(0)).await.unwrap_err();
    assert!(matches!(error, ModelError::TooSlow { rows: 210_000, seconds: 1, .. }), "{error}");
    file.db.prepare_model(&new, &seconds(1)).await.unwrap();
}

proptest! {
    /// The model extracts the same value from a body as SQLite.
    #[test]
    fn extraction_agrees_with_the_database(value in prop_oneof![
        any::<i64>().prop_map(serde_json::Value::from),
        // With few digits, because parsers, including SQLite's, differ in the last bit of long fractions.
        (any::<i32>(), 0..4).prop_map(|(n, halvings)| (f64::from(n) / 2_f64.powi(halvings)).into()),
        "[a-zé\"\\\\]{0,8}".prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
        Just(serde_json::json!([1])),
        Just(serde_json::Value::Null),
    ]) {
        let body = serde_json::json!({"x": {"y": "deep"}, "a": {"b": value}}).to_string();
        let ours = extract(&["a.b"], &body).unwrap().remove(0);
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let mut memory = <sqlx::SqliteConnection as sqlx::Connection>::connect("sqlite::memory:").await.unwrap();
            let sql = format!("SELECT ?1 IS {} FROM (SELECT ?2 AS body)", super::prepare::json_value_sql("a.b"));
            let query: crate::db::apply::rows::Query = sqlx::query(sqlx::AssertSqlSafe(sql));
            let query = crate::db::apply::rows::bind_field(query, &ours).bind(body.clone());
            let same: bool = sqlx::Row::get(&query.fetch_one(&mut memory).await.unwrap(), 0);
            assert!(same, "{body}: {ours:?}");
        });
    }
}
