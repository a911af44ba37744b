use std::{collections::HashMap, sync::Arc};

use super::*;
use crate::{
    capability::{Facts, Inputs, Questions, Shared},
    commit::testing::{Bench, call, decided_by, scope},
    config::{DestinationConfig, DestinationKind, PluginLimits},
    secrets::SealingRoot,
};

const TENANT: &str = "acme/test";

/// Returns an operator's destination for these tenants.
fn operator_destination(tenants: &[&str]) -> Arc<DestinationConfig> {
    let tenants = tenants.iter().map(|tenant| tenant.to_string()).collect();
    Arc::new(DestinationConfig { kind: DestinationKind::Outbox, timeout_ms: None, test: true, live: true, tenants })
}

/// Starts one run of a call of this tenant. The operator has a destination "bank", and "theirs" for another tenant.
fn run(bench: &Bench, tenant: &str) -> CallState {
    let facts = Facts {
        plugin: "notes".into(),
        generation: 1,
        decided_by: decided_by(),
        limits: PluginLimits::default(),
        settings: Default::default(),
        shared: Shared::bare(),
        shows_private_keys: false,
        operator_destinations: [
            ("bank".into(), operator_destination(&[])),
            ("theirs".into(), operator_destination(&["other/test"])),
        ]
        .into(),
        event_types: HashMap::new(),
        tasks: Default::default(),
        log: crate::capability::LogLimits::bare(),
        sampling: Default::default(),
    };
    let inputs = Inputs { request_id: "request_1".into(), now: 1_000, seed: [7; 32] };
    CallState::new(
        Arc::new(facts),
        &inputs,
        Box::new(bench.committer.begin(call(&bench.model, tenant))),
        Questions::default(),
    )
}

async fn commit(bench: &Bench, state: CallState) {
    bench.committer.commit(state.into_parts().0.into_changes(None), None).await.unwrap();
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<Pair> {
    pairs.iter().map(|(name, value)| Pair { name: name.to_string(), value: value.to_string() }).collect()
}

fn partner() -> wit::Destination {
    wit::Destination {
        name: "partner".into(),
        base_url: "https://partner.example/v1".into(),
        kind: "basic".into(),
        settings: pairs(&[("user", "me")]),
        secrets: pairs(&[("password", "hunter2")]),
    }
}

async fn put(state: &mut CallState, destination: wit::Destination) -> Result<(), wit::Refusal> {
    state.put(destination).await.unwrap()
}

#[tokio::test]
async fn secrets_of_a_destination_are_sealed_and_never_returned() {
    let bench = Bench::open().await;
    let mut first = run(&bench, TENANT);
    put(&mut first, partner()).await.unwrap();
    let found = first.get("partner".into()).await.unwrap().unwrap();
    assert!(found.secrets.is_empty() && found.settings[0].value == "me");
    commit(&bench, first).await;
    let mut second = run(&bench, TENANT);
    assert_eq!(second.get("partner".into()).await.unwrap().unwrap().base_url, "https://partner.example/v1");
    assert!(run(&bench, "other/test").get("partner".into()).await.unwrap().is_none());
    let stored = bench.database.find_destination(&scope(TENANT), "partner").await.unwrap().unwrap();
    assert!(!stored.contains("hunter2"), "{stored}");
    let login = Destination::parse(&stored).unwrap();
    let login = login.login((&scope(TENANT), "partner"), &SealingRoot::new(Default::default())).unwrap();
    assert_eq!(login, Login::Basic { user: "me".into(), password: SecretText::new("hunter2".into()) });
    assert!(second.remove("partner".into()).await.unwrap() && !second.remove("partner".into()).await.unwrap());
    commit(&bench, second).await;
    assert!(bench.database.find_destination(&scope(TENANT), "partner").await.unwrap().is_none());
}

#[tokio::test]
async fn name_of_an_operator_destination_is_taken() {
    let bench = Bench::open().await;
    let refused = put(&mut run(&bench, TENANT), wit::Destination { name: "bank".into(), ..partner() }).await;
    assert!(matches!(refused, Err(wit::Refusal::Other(sentence)) if sentence.contains("\"bank\"")));
}

#[tokio::test]
async fn name_of_an_operator_destination_for_other_tenants_is_free() {
    let (bench, theirs) = (Bench::open().await, || wit::Destination { name: "theirs".into(), ..partner() });
    put(&mut run(&bench, TENANT), theirs()).await.unwrap();
    assert!(put(&mut run(&bench, "other/test"), theirs()).await.is_err());
}

#[tokio::test]
async fn disallowed_address_is_refused() {
    use wit::Refusal::{AddressNotAllowed, HttpsRequired, Malformed, NotAUrl};
    let (bench, at) = (Bench::open().await, |url: &str| wit::Destination { base_url: url.into(), ..partner() });
    let mut test = run(&bench, TENANT);
    assert!(matches!(put(&mut test, at("partner")).await, Err(NotAUrl)));
    for inside in ["http://127.0.0.1/", "https://10.0.0.1", "https://localhost", "http://[::1]:80", "http://0x7f.1"] {
        assert!(matches!(put(&mut test, at(inside)).await, Err(AddressNotAllowed)), "{inside}");
    }
    for odd in ["https://partner.example/?a=b", "https://me:hunter2@partner.example", "ftp://partner.example"] {
        assert!(matches!(put(&mut test, at(odd)).await, Err(Malformed(_))), "{odd}");
    }
    put(&mut test, at("http://partner.example")).await.unwrap();
    assert!(matches!(put(&mut run(&bench, "acme/live"), at("http://partner.example")).await, Err(HttpsRequired)));
}

#[tokio::test]
async fn token_url_is_checked() {
    let bench = Bench::open().await;
    let oauth = |url: &str| wit::Destination {
        kind: "oauth2".into(),
        settings: pairs(&[("token-url", url), ("client-id", "me")]),
        secrets: pairs(&[("client-secret", "hunter2")]),
        ..partner()
    };
    let mut state = run(&bench, TENANT);
    let inside = put(&mut state, oauth("http://169.254.169.254/token")).await;
    assert!(matches!(inside, Err(wit::Refusal::AddressNotAllowed)));
    put(&mut state, oauth("https://id.example/token?tenant=a")).await.unwrap();
}

#[tokio::test]
async fn malformed_destination_is_refused_without_quoting_a_secret() {
    let bench = Bench::open().await;
    let mut state = run(&bench, TENANT);
    let many = pairs(&vec![("user", "me"); DESTINATION_VALUES_MAX + 1]);
    for wrong in [
        wit::Destination { name: "a/b".into(), ..partner() },
        wit::Destination { kind: "outbox".into(), ..partner() },
        wit::Destination { settings: Vec::new(), ..partner() },
        wit::Destination { settings: many, ..partner() },
        wit::Destination { secrets: pairs(&[("password", "hunter2"), ("token", "hunter2")]), ..partner() },
        wit::Destination { secrets: pairs(&[("password", "hunter2\n")]), ..partner() },
    ] {
        let Err(wit::Refusal::Malformed(sentence)) = put(&mut state, wrong).await else { panic!("it was accepted") };
        assert!(!sentence.contains("hunter2"), "{sentence}");
    }
}

#[tokio::test]
async fn number_of_destinations_of_a_tenant_is_bounded() {
    let bench = Bench::open().await;
    let mut state = run(&bench, TENANT);
    for number in 0..DESTINATIONS_MAX {
        put(&mut state, wit::Destination { name: format!("partner-{number}"), ..partner() }).await.unwrap();
    }
    commit(&bench, state).await;
    let mut state = run(&bench, TENANT);
    assert!(matches!(put(&mut state, partner()).await, Err(wit::Refusal::Other(_))));
    put(&mut state, wit::Destination { name: "partner-0".into(), ..partner() }).await.unwrap();
    assert!(state.remove("partner-1".into()).await.unwrap());
    put(&mut state, partner()).await.unwrap();
    put(&mut run(&bench, "other/test"), partner()).await.unwrap();
}

#[tokio::test]
async fn open_route_has_no_destinations() {
    let bench = Bench::open().await;
    let mut anonymous = run(&bench, "");
    assert!(anonymous.put(partner()).await.is_err());
    assert!(anonymous.get("partner".into()).await.unwrap().is_none());
}
