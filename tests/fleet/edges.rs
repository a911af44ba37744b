//! Every edge of an order, and every one that there is not, over HTTP: each status, each way to ask for each other one.

use fleet::rules::{
    flow::transport,
    progress::{Edge, Way, edges},
};
use serde_json::{Value, json};

use super::{
    coverage::{allowed, forbidden, statuses},
    stage::Stage,
};

/// Who asks for a status, and how: way, method, the rest of the path, body; whether it skips the dispatch.
type Asked = (Way, &'static str, &'static str, Value, bool);

fn asking_for(code: &str) -> Vec<Asked> {
    let activity = |skip: bool| json!({"activity": {"code": code}, "reason": "nobody there", "skip_dispatch": skip});
    let mut ways = vec![
        (Way::UpdateActivity, "POST", "/update-activity", activity(false), false),
        (Way::UpdateActivity, "POST", "/update-activity", activity(true), true),
        (Way::ChangeStatus, "PUT", "", json!({"status": code}), false),
    ];
    match code {
        "dispatched" => ways.push((Way::Dispatch, "POST", "/dispatch", json!({}), false)),
        "started" => {
            ways.push((Way::Start, "POST", "/start", json!({}), false));
            ways.push((Way::Start, "POST", "/start", json!({"skip_dispatch": true}), true));
        }
        "completed" => ways.push((Way::Complete, "POST", "/complete", json!({}), false)),
        "canceled" => ways.push((Way::Cancel, "DELETE", "/cancel", Value::Null, false)),
        _ => {}
    }
    ways
}

/// The path of a new order that has come there on the usual way.
async fn order_at(stage: &Stage, driver: &str, status: &str) -> String {
    let path = format!("/v1/orders/{}", stage.order(json!({"driver": driver})).await);
    let step = async |rest: &str, body: Value| stage.post(&format!("{path}{rest}"), body).await.check(200);
    let usual = ["created", "dispatched", "started", "enroute", "completed"];
    let passed = usual.iter().position(|known| *known == status).unwrap_or_default();
    for code in &usual[1..=passed] {
        match *code {
            "dispatched" => step("/dispatch", json!({})).await,
            "started" => step("/start", json!({})).await,
            "enroute" => step("/update-activity", json!({"activity": {"code": "enroute"}})).await,
            _ => step("/complete", json!({})).await,
        }
    }
    match status {
        "canceled" => stage.delete(&format!("{path}/cancel")).await.check(200),
        "failed" => step("/update-activity", json!({"activity": {"code": "failed"}, "reason": "nobody there"})).await,
        _ => {}
    }
    assert_eq!(stage.shown(&path).await["status"], status);
    path
}

/// The edge that this way takes, if there is one.
fn taken<'a>(edges: &'a [Edge], from: &str, to: &str, (way, .., skips): &Asked) -> Option<&'a Edge> {
    let fits = |edge: &&Edge| edge.from.as_deref() == Some(from) && edge.to == to && edge.by.contains(way);
    edges.iter().find(|edge| fits(edge) && (*skips || !edge.needs.contains("skip_dispatch")))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_goes_along_its_edges_and_nowhere_else() {
    let stage = Stage::open().await.covers(&["edge * to * by *", "no edge * to *"]);
    let driver = stage.driver("ada").await;
    let edges = edges(&transport());
    for from in statuses() {
        for to in statuses().into_iter().filter(|to| *to != from) {
            let mut leads = false;
            for asked in asking_for(&to) {
                leads |= goes_as_the_table_says(&stage, &driver.id, &edges, (&from, &to), &asked).await;
            }
            if !leads {
                stage.seen.note(&forbidden(&from, &to));
            }
        }
    }
    created(&stage, &driver.id).await;
    stage.finish().await;
}

/// Whether there is an edge.
async fn goes_as_the_table_says(
    stage: &Stage,
    driver: &str,
    edges: &[Edge],
    (from, to): (&str, &str),
    asked: &Asked,
) -> bool {
    let path = order_at(stage, driver, from).await;
    let before = stage.shown(&path).await;
    let (way, method, rest, body, _) = asked;
    let answer = stage.call(&stage.key, method, &format!("{path}{rest}"), body.clone()).await;
    let after = stage.shown(&path).await;
    let edge = taken(edges, from, to, asked);
    match edge {
        Some(edge) => {
            assert_eq!((answer.status, &after["status"]), (200, &json!(to)), "{from} {asked:?}: {}", answer.text());
            stage.seen.note(&allowed(edge.from.as_deref(), to, *way));
        }
        None => {
            assert!((400..500).contains(&answer.status), "{from} {asked:?}: {}", answer.text());
            assert_eq!(before, after, "{from} {asked:?}: a refusal changes nothing");
        }
    }
    edge.is_some()
}

async fn created(stage: &Stage, driver: &str) {
    let plain = stage.order(json!({})).await;
    assert_eq!(stage.shown(&format!("/v1/orders/{plain}")).await["status"], "created");
    stage.seen.note(&allowed(None, "created", Way::Create));
    let body = json!({"pickup": "a", "dropoff": "b", "driver": driver, "dispatch": true});
    let dispatched = stage.post("/v1/orders", body).await.expect(201).json();
    assert_eq!((&dispatched["status"], &dispatched["dispatched"]), (&json!("dispatched"), &json!(true)));
    stage.seen.note(&allowed(Some("created"), "dispatched", Way::Create));
}
