use proptest::prelude::*;

use super::{Comparison, Condition, FindError, Page, Query, Sort, Value};
use crate::db::Database;
use crate::db::model::DataModel;
use crate::db::testing::{TestFile, batch, change, index, model, scope};

const TENANT: &str = "acme/test";

fn when(field: &str, comparison: Comparison) -> Condition {
    Condition { field: field.into(), comparison }
}

fn text(value: &str) -> Value {
    Value::Text(value.into())
}

fn equal(field: &str, value: &str) -> Condition {
    when(field, Comparison::Equal(text(value)))
}

fn by(field: &str, descending: bool) -> Sort {
    Sort { field: field.into(), descending }
}

fn ids(page: &Page) -> Vec<&str> {
    page.entries.iter().map(|(id, _)| &**id).collect()
}

/// A database with one collection and its model.
struct Things {
    file: TestFile,
    model: std::sync::Arc<DataModel>,
}

impl Things {
    /// Stores records with these (id, body) in a collection with these indexes.
    async fn of(indexes: &[&[&str]], bodies: &[(&str, &str)]) -> Things {
        let indexes = indexes.iter().enumerate().map(|(n, fields)| index(&format!("i{n}"), fields, false));
        let model = model(indexes.collect());
        let file = TestFile::with(&model).await;
        let changes = (1..).zip(bodies).map(|(version, (id, body))| change(&model, version, TENANT).put(id, body));
        file.db.writer().apply(&batch("b", changes.collect())).await.unwrap();
        Things { file, model }
    }

    fn db(&self) -> &Database {
        &self.file.db
    }

    async fn find(&self, query: &Query) -> Result<Page, FindError> {
        let things = self.model.collection("things").unwrap();
        self.db().find_page(&scope("notes", TENANT), things, query).await
    }

    async fn ids(&self, conditions: &[Condition]) -> Vec<String> {
        let query = Query { conditions: conditions.to_vec(), limit: 100, ..Query::default() };
        let mut found: Vec<String> =
            self.find(&query).await.unwrap().entries.into_iter().map(|(id, _)| id.to_string()).collect();
        found.sort();
        found
    }

    /// Returns the ids of all pages with `limit` entries each.
    async fn walk(&self, mut query: Query) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let page = self.find(&query).await.unwrap();
            all.extend(page.entries.iter().map(|(id, _)| id.to_string()));
            query.after = page.next;
            if query.after.is_none() {
                return all;
            }
            assert_eq!(page.entries.len(), query.limit as usize);
        }
    }
}

#[tokio::test]
async fn every_comparison_finds_the_same_records_with_and_without_an_index() {
    let bodies = [
        ("a", r#"{"v":1,"n":{"v":1}}"#),
        ("b", r#"{"v":2.5,"n":{"v":2.5}}"#),
        ("c", r#"{"v":"apple","n":{"v":"apple"}}"#),
        ("d", r#"{"v":"apricot","n":{"v":"apricot"}}"#),
        ("e", r#"{"v":null}"#),
        ("f", r#"{"v":true,"n":{"v":true}}"#),
        ("g", r#"{"v":[1,"apple"],"n":{"v":[1,"apple"]}}"#),
    ];
    let things = Things::of(&[&["v"]], &bodies).await;
    use Comparison::*;
    let cases = [
        (Equal(Value::Number(1.0)), "a f"),
        (Equal(Value::Null), "e g"),
        (NotEqual(text("apple")), "a b d e f g"),
        (OneOf(vec![text("apple"), Value::Integer(1), Value::Null]), "a c e f g"),
        (OneOf(vec![]), ""),
        (Less(Value::Integer(2)), "a f"),
        (AtMost(Value::Number(2.5)), "a b f"),
        (More(Value::Integer(1)), "b"),
        (AtLeast(Value::Integer(1)), "a b f"),
        (Less(text("apricot")), "c"),
        (More(text("apple")), "d"),
        (StartsWith("ap".into()), "c d"),
        (StartsWith("app".into()), "c"),
        (StartsWith(String::new()), "c d"),
        (Contains(text("apple")), "g"),
        (Contains(Value::Integer(2)), ""),
    ];
    for (comparison, expected) in cases {
        // Once with an index, and once on a field without one. The condition on "@id" lets the primary key serve the
        // query.
        let every = when("@id", AtLeast(text("")));
        let indexed = things.ids(&[every.clone(), when("v", comparison.clone())]).await.join(" ");
        let filtered = things.ids(&[every, when("n.v", comparison.clone())]).await.join(" ");
        assert_eq!((indexed.as_str(), filtered.as_str()), (expected, expected), "{comparison:?}");
    }
}

#[tokio::test]
async fn error_of_a_query_without_index_names_the_index_to_declare() {
    let things = Things::of(&[&["state", "@created-at"]], &[("a", r#"{"state":"new"}"#)]).await;
    let misuse = async |conditions: Vec<Condition>, sort: Vec<Sort>| {
        let error = things.find(&Query { conditions, sort, limit: 1, ..Query::default() }).await.unwrap_err();
        assert!(matches!(error, FindError::Misuse(_)), "{error:?}");
        error.to_string()
    };
    assert!(misuse(vec![equal("owner", "x")], vec![]).await.ends_with(r#"declare one with the fields ["owner"]"#));
    let message = misuse(vec![equal("owner", "x")], vec![by("state", false)]).await;
    assert!(message.ends_with(r#"declare one with the fields ["owner", "state"]"#), "{message}");
    assert!(misuse(vec![], vec![by("x' OR 1", false)]).await.contains("not a path"));
    assert!(misuse(vec![], vec![by("state", false), by("@created-at", true)]).await.contains("the same direction"));
    assert!(misuse(vec![when("state", Comparison::Less(Value::Null))], vec![]).await.contains("null"));
    things.find(&Query { sort: vec![by("state", true)], limit: 1, ..Query::default() }).await.unwrap();
}

#[tokio::test]
async fn foreign_cursors_return_bad_cursor() {
    let things = Things::of(&[&["state"]], &[("a", r#"{"state":"1"}"#), ("b", r#"{"state":"2"}"#)]).await;
    let mut query = Query { sort: vec![by("state", false)], limit: 1, ..Query::default() };
    let next = things.find(&query).await.unwrap().next.unwrap();
    let longer = "A".repeat(100_000);
    for cursor in ["", "!", "AAAA", "bnVsbA", &next[1..], &longer] {
        query.after = Some(cursor.to_owned());
        assert!(matches!(things.find(&query).await, Err(FindError::BadCursor(_))), "{cursor}");
    }
    query.after = Some(next);
    query.sort = vec![by("state", true)];
    assert!(matches!(things.find(&query).await, Err(FindError::BadCursor(_))));
}

#[tokio::test]
async fn one_of_and_a_sort_are_merged_in_order() {
    let bodies: Vec<(String, String)> = (0..40)
        .map(|n| (format!("id{n:02}"), format!(r#"{{"state":"s{}","rank":{}}}"#, n % 4, (n * 7) % 40)))
        .collect();
    let borrowed: Vec<(&str, &str)> = bodies.iter().map(|(id, body)| (id.as_str(), body.as_str())).collect();
    let things = Things::of(&[&["state", "rank"]], &borrowed).await;
    let query = Query {
        conditions: vec![when("state", Comparison::OneOf(vec![text("s1"), text("s3"), text("s1")]))],
        sort: vec![by("rank", true)],
        limit: 3,
        ..Query::default()
    };
    let mut expected: Vec<usize> = (0..40).filter(|n| n % 2 == 1).collect();
    expected.sort_by_key(|n| std::cmp::Reverse((n * 7) % 40));
    let expected: Vec<String> = expected.into_iter().map(|n| format!("id{n:02}")).collect();
    assert_eq!(things.walk(query).await, expected);
}

#[tokio::test]
async fn page_with_large_bodies_ends_early_and_has_a_cursor() {
    let large = format!("\"{}\"", "x".repeat(3 << 20));
    let things = Things::of(&[], &[("a", &large), ("b", &large), ("c", &large)]).await;
    let mut query = Query { limit: 10, ..Query::default() };
    let page = things.find(&query).await.unwrap();
    assert_eq!(ids(&page), ["a", "b"]);
    query.after = page.next;
    assert_eq!(ids(&things.find(&query).await.unwrap()), ["c"]);
}

#[tokio::test]
async fn count_stops_at_its_limit() {
    let things = Things::of(&[&["state"]], &[("a", r#"{"state":"1"}"#), ("b", r#"{"state":"1"}"#)]).await;
    let (db, collection) = (things.db(), things.model.collection("things").unwrap());
    let conditions = [equal("state", "1")];
    assert_eq!(db.count_records(&scope("notes", TENANT), collection, &conditions, 9).await.unwrap(), 2);
    assert_eq!(db.count_records(&scope("notes", TENANT), collection, &conditions, 1).await.unwrap(), 1);
    assert_eq!(db.count_records(&scope("notes", "other/test"), collection, &conditions, 9).await.unwrap(), 0);
}

#[tokio::test]
async fn pages_are_read_from_the_index_without_sorting() {
    let things = Things::of(&[&["state", "rank"]], &[("a", r#"{"state":"1","rank":1}"#)]).await;
    let collection = things.model.collection("things").unwrap();
    for (conditions, after) in [
        (vec![equal("state", "1")], None),
        (vec![equal("state", "1")], Some(vec![2_i64])),
        (vec![when("state", Comparison::OneOf(vec![text("1"), text("2")]))], Some(vec![2])),
    ] {
        let query = Query { conditions, sort: vec![by("rank", true)], limit: 1, ..Query::default() };
        let plan = super::Plan::new(collection, &query.conditions, &query.sort).unwrap();
        let after: Option<Vec<_>> = after.map(|values: Vec<i64>| {
            let fields = values.into_iter().map(crate::changes::change_set::Field::Integer);
            fields.chain([crate::changes::change_set::Field::Text("a".into())]).collect()
        });
        let sql = super::page_sql(&scope("notes", TENANT), &plan, &query, after.as_deref()).unwrap();
        let explain: super::Statement = sqlx::query(sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", sql.text)));
        let steps =
            sql.values.iter().fold(explain, super::bind_field).fetch_all(&*things.db().readers()).await.unwrap();
        let steps: Vec<String> = steps.iter().map(|row| sqlx::Row::get(row, 3)).collect();
        assert!(
            steps.iter().all(|step| !step.contains("TEMP B-TREE") && !step.starts_with("SCAN notes")),
            "{steps:#?}"
        );
    }
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        Just(serde_json::Value::Null),
        (-2_i64..3).prop_map(Into::into),
        (-2_i64..3).prop_map(|n| (n as f64 + 0.5).into()),
        prop::sample::select(vec!["", "a", "ab", "é"]).prop_map(Into::into),
        any::<bool>().prop_map(Into::into),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Reading page by page yields each record once, in both directions, for any values.
    #[test]
    fn pages_yield_everything_once(values in prop::collection::vec((value(), value()), 1..30), limit in 1_u32..5) {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let bodies: Vec<(String, String)> = values.iter().enumerate()
                .map(|(n, (a, b))| (format!("id{n:02}"), serde_json::json!({"a": a, "b": b}).to_string()))
                .collect();
            let borrowed: Vec<(&str, &str)> = bodies.iter().map(|(id, body)| (id.as_str(), body.as_str())).collect();
            let things = Things::of(&[&["a", "b"]], &borrowed).await;
            let walk = async |descending| {
                let query = Query { sort: vec![by("a", descending)], limit, ..Query::default() };
                things.walk(query).await
            };
            let (up, mut down) = (walk(false).await, walk(true).await);
            down.reverse();
            assert_eq!(up, down);
            let mut sorted = up.clone();
            sorted.sort();
            assert_eq!(sorted, bodies.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>());
        });
    }

    /// No read returns a record of another tenant.
    #[test]
    fn no_read_crosses_a_scope(owners in prop::collection::vec(0_usize..3, 1..12), reader in 0_usize..3) {
        const TENANTS: [&str; 3] = ["acme/test", "acme/live", "other/test"];
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let model = model(vec![index("by-state", &["state"], false), index("by-name", &["name"], true)]);
            let file = TestFile::with(&model).await;
            let body = |n: usize| format!(r#"{{"state":"s","name":"n{n}"}}"#);
            let changes = owners.iter().enumerate()
                .map(|(n, owner)| change(&model, n as u64 + 1, TENANTS[*owner]).put(&format!("id{n:02}"), &body(n)));
            file.db.writer().apply(&batch("b", changes.collect())).await.unwrap();
            let (things, own_scope) = (model.collection("things").unwrap(), scope("notes", TENANTS[reader]));
            let own: Vec<String> = owners.iter().enumerate().filter(|(_, owner)| **owner == reader)
                .map(|(n, _)| format!("id{n:02}")).collect();
            for conditions in [vec![], vec![equal("state", "s")], vec![when("@id", Comparison::StartsWith("id".into()))]] {
                let query = Query { conditions: conditions.clone(), limit: 100, ..Query::default() };
                assert_eq!(ids(&file.db.find_page(&own_scope, things, &query).await.unwrap()), own);
                assert_eq!(file.db.count_records(&own_scope, things, &conditions, 100).await.unwrap() as usize, own.len());
            }
            for n in 0..owners.len() {
                let id = format!("id{n:02}");
                let is_own = own.contains(&id);
                assert_eq!(file.db.find_record(&own_scope, things, &id).await.unwrap().is_some(), is_own);
                assert_eq!(file.db.find_records(&own_scope, things, &[id.as_str().into()], usize::MAX).await.unwrap()[0].is_some(), is_own);
                let unique = things.unique_indexes().next().unwrap();
                let fields = things.extract(&body(n)).unwrap();
                assert_eq!(file.db.find_slot(&own_scope, things, unique, &fields).await.unwrap().is_some(), is_own);
            }
        });
    }
}
