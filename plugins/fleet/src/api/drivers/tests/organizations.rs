//! The organizations of a driver: "acme", and "globex" on a host of its own, which answers what acme's plugin asks.

use std::cell::RefCell;
use std::rc::Rc;

use tenon_plugin::effects::{OutgoingCall, Response};
use tenon_plugin::test_kit::response;
use tenon_plugin::{Content, Level};

use super::*;

const GLOBEX: &str = "company_globex";
const LINKS: &str = r#"{"acme": ["globex"]}"#;

/// What the operator's destination does: the call acts for globex, and says from where it comes.
fn visit(globex: &TestHost, call: &OutgoingCall) -> Response {
    let Content::Json(body) = &call.content else { panic!("{call:?}") };
    let visit = TestCall::new(&call.method, &call.path).text(body).tenant("globex/test");
    let answer = globex.call(visit.plugin_for_organization("fleet", "acme"));
    match answer.status {
        204 => Response { status: 204, headers: Vec::new(), content: Content::Empty },
        status => response(status, &answer.json()),
    }
}

/// Acme, linked to globex, and globex.
fn two() -> (TestHost, Rc<TestHost>) {
    let globex = Rc::new(TestHost::new(&PLUGIN));
    let asked = globex.clone();
    let acme = host().setting("organizations", LINKS).answers(move |call| {
        assert_eq!(call.destination, GLOBEX);
        Ok(visit(&asked, call))
    });
    (acme, globex)
}

/// Acme, with somebody else in the place of globex.
fn linked_to(says: impl Fn(&OutgoingCall) -> Result<Response, String> + 'static) -> TestHost {
    host().setting("organizations", LINKS).answers(says)
}

/// The id of a driver of globex.
fn hired(globex: &TestHost, body: &Value) -> String {
    let answer = globex.call(TestCall::post("/v1/drivers").json(body).tenant("globex/test"));
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()["id"].as_str().unwrap().to_owned()
}

fn ada_here(host: &TestHost) -> String {
    create(host, &ada()).json()["id"].as_str().unwrap().to_owned()
}

fn organizations(host: &TestHost, id: &str) -> Value {
    let answer = host.call(as_driver(TestCall::get(&format!("{}/organizations", path(id))), id));
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

fn switch(host: &TestHost, id: &str, next: &str) -> TestAnswer {
    let call = TestCall::post(&format!("{}/switch-organization", path(id))).json(&json!({ "next": next }));
    host.call(as_driver(call, id))
}

#[track_caller]
fn no_member(answer: &TestAnswer) {
    let sentence = "The driver is not a member of this organization.";
    refused(answer, 400, "ORGANIZATION_NOT_POSSIBLE", sentence);
}

#[test]
fn without_a_link_a_driver_belongs_to_one_organization() {
    let host = host();
    let id = created(&host, "ada", json!({}));
    let current = host.call(as_driver(TestCall::get(&format!("{}/current-organization", path(&id))), &id));
    assert_eq!((current.status, organizations(&host, &id)), (200, json!([current.json()])));
    assert_eq!(host.call(TestCall::get(&path(&id))).json()["company"], current.json()["id"]);
    let same = switch(&host, &id, current.json()["id"].as_str().unwrap());
    refused(&same, 400, "ORGANIZATION_NOT_POSSIBLE", "The driver already acts for this organization.");
    for nowhere in [GLOBEX, "company_0000000000", "company_", "globex", "nonsense"] {
        no_member(&switch(&host, &id, nowhere));
    }
    let none = post(&host, &format!("{}/switch-organization", path(&id)), &json!({ "next": null }));
    refused(&none, 422, "VALIDATION_FAILED", "The next field is required.");
}

#[test]
fn a_driver_of_both_organizations_goes_to_the_other_one_with_a_token_of_it() {
    let (acme, globex) = two();
    let (here, there) = (ada_here(&acme), hired(&globex, &ada()));
    let answer = switch(&acme, &here, GLOBEX);
    let body = answer.json();
    assert_eq!((answer.status, &body["organization"]), (200, &json!({"id": GLOBEX, "name": "globex"})));
    assert_eq!((&body["driver"]["id"], &body["driver"]["company"]), (&json!(there), &json!(GLOBEX)));
    let issued = globex.issued();
    assert_eq!((issued.len(), &body["driver"]["token"]), (1, &json!(issued[0].secret)));
    assert_eq!((issued[0].tenant.as_str(), issued[0].kind), ("globex/test", "token"));
    assert_eq!((issued[0].grant.attributes[0].name.as_str(), &issued[0].grant.attributes[0].value), ("driver", &there));
    assert!(globex.logged().iter().any(|(level, text)| *level == Level::Info && text.contains("came from another")));
}

#[test]
fn his_photo_there_has_an_address_that_his_own_request_reaches() {
    let (acme, globex) = two();
    let here = ada_here(&acme);
    let there = |call: TestCall| globex.call(call.tenant("globex/test")).json();
    let picture = json!({ "data": crate::rules::picture::samples::PNG_BASE64 });
    let file = there(TestCall::post("/v1/files/base64").json(&picture))["id"].clone();
    hired(&globex, &with(ada(), json!({ "photo": file })));
    let call = TestCall::post(&format!("{}/switch-organization", path(&here))).json(&json!({ "next": GLOBEX }));
    let opened = acme.call(as_driver(call, &here).context("base-url", "https://a.example")).json();
    let address = format!("https://a.example/v1/files/{}/download", file.as_str().unwrap());
    assert_eq!(opened["driver"]["photo_url"], json!(address));
}

#[test]
fn he_is_listed_for_where_he_could_go() {
    let (acme, globex) = two();
    let here = ada_here(&acme);
    let own = json!({"id": "company_acme", "name": "acme"});
    assert_eq!(organizations(&acme, &here), json!([own]));
    hired(&globex, &ada());
    assert_eq!(organizations(&acme, &here), json!([own, {"id": GLOBEX, "name": "globex"}]));
    assert!(globex.issued().is_empty(), "who only looks gets no token there");
}

#[test]
fn who_is_a_stranger_there_or_inactive_does_not_go() {
    let (acme, globex) = two();
    let here = ada_here(&acme);
    no_member(&switch(&acme, &here, GLOBEX));
    // One has her telephone, another one her address: neither is she.
    hired(&globex, &json!({"name": "Eve", "email": "eve@x.org", "phone": PHONE}));
    hired(&globex, &json!({"name": "Bob", "email": "ada@x.org", "phone": "2"}));
    no_member(&switch(&acme, &here, GLOBEX));
    let (acme, globex) = two();
    let (here, there) = (ada_here(&acme), hired(&globex, &ada()));
    let rest = TestCall::patch(&path(&there)).json(&json!({"status": "inactive"})).tenant("globex/test");
    assert_eq!(globex.call(rest).status, 200);
    no_member(&switch(&acme, &here, GLOBEX));
    assert_eq!((organizations(&acme, &here).as_array().unwrap().len(), globex.issued().len()), (1, 0));
}

#[test]
fn what_she_is_known_by_has_one_spelling() {
    let (acme, globex) = two();
    let (here, there) = (ada_here(&acme), json!({"name": "A.", "email": "ADA@x.org", "phone": "(65) 9123-4567"}));
    hired(&globex, &there);
    assert_eq!(switch(&acme, &here, GLOBEX).status, 200);
}

#[test]
fn who_has_nothing_to_be_known_by_is_asked_for_nowhere() {
    let host = linked_to(|call| panic!("{call:?}"));
    // Of an earlier version: without what he logs in by.
    let old =
        json!({"id": "driver_0123456789", "name": "Ada", "email": "ada@x.org", "phone": PHONE, "status": "active"});
    host.put_record("drivers", "driver_0123456789", &old);
    no_member(&post(&host, "/v1/drivers/driver_0123456789/switch-organization", &json!({ "next": GLOBEX })));
    let listed = host.call(TestCall::get("/v1/drivers/driver_0123456789/organizations"));
    assert_eq!((listed.status, listed.json().as_array().unwrap().len()), (200, 1));
}

#[test]
fn a_link_may_be_for_one_environment() {
    let links = r#"{"acme/live": ["globex"], "acme": []}"#;
    let host = host().setting("organizations", links).answers(|_| Ok(response(404, &json!({}))));
    let here = ada_here(&host);
    no_member(&switch(&host, &here, GLOBEX));
    // Named, and linked for the other environment: nobody is asked there.
    let host = linked_to(|_| Err("no-such-destination".to_owned()));
    no_member(&switch(&host, &ada_here(&host), GLOBEX));
    assert!(host.logged().contains(&(Level::Warn, "a linked organization has no destination".to_owned())));
}

#[test]
fn an_organization_that_does_not_answer_is_left_out_and_switched_to_later() {
    type Says = fn(&OutgoingCall) -> Result<Response, String>;
    let silent: [Says; 7] = [
        |_| Err("timeout".to_owned()),
        |_| Err("no-such-plugin".to_owned()),
        |_| Ok(response(503, &json!({}))),
        |_| Ok(response(200, &json!({"organization": {}, "driver": {}}))),
        |_| Ok(response(200, &json!({"driver": {"token": "t"}}))),
        |_| Ok(response(200, &json!("driver"))),
        |_| Ok(Response { status: 200, headers: Vec::new(), content: Content::Empty }),
    ];
    for says in silent {
        let host = linked_to(says);
        let here = ada_here(&host);
        let words = "The service is busy; try again shortly";
        refused(&switch(&host, &here, GLOBEX), 503, "SERVICE_UNAVAILABLE", words);
        assert_eq!(organizations(&host, &here).as_array().unwrap().len(), 1);
        assert!(host.logged().iter().any(|(level, _)| *level == Level::Warn));
    }
}

/// A run that is repeated draws the same id, which is what two hosts do that were asked the same.
#[test]
fn another_question_has_another_idempotency_key() {
    let key_of = |phone: &str| {
        let seen = Rc::new(RefCell::new(None));
        let kept = seen.clone();
        let acme = linked_to(move |call| {
            let key = call.headers.iter().find(|header| header.name == "idempotency-key");
            *kept.borrow_mut() = key.map(|header| header.value.clone());
            Ok(response(404, &json!({})))
        });
        let here = create(&acme, &with(ada(), json!({ "phone": phone }))).json()["id"].as_str().unwrap().to_owned();
        no_member(&switch(&acme, &here, GLOBEX));
        seen.take().unwrap()
    };
    assert_eq!(key_of(PHONE), key_of(PHONE));
    assert_ne!(key_of(PHONE), key_of("+6590000000"));
}

#[test]
fn every_linked_organization_is_asked_at_once() {
    let names: Vec<String> = (0..20).map(|nth| format!("org-{nth:02}")).collect();
    let asked = Rc::new(RefCell::new(Vec::new()));
    let seen = asked.clone();
    let answers = move |call: &OutgoingCall| {
        seen.borrow_mut().push(call.destination.clone());
        Ok(Response { status: 204, headers: Vec::new(), content: Content::Empty })
    };
    let host = host().setting("organizations", &json!({"acme": names}).to_string()).answers(answers);
    let here = ada_here(&host);
    assert_eq!((organizations(&host, &here).as_array().unwrap().len(), asked.borrow().len()), (16, 15));
}

#[test]
fn only_this_plugin_for_a_linked_organization_is_answered() {
    let host = TestHost::new(&PLUGIN);
    let id = ada_here(&host);
    let from = |call: TestCall| call.attribute("organization", "globex");
    for target in ["/v1/linked-drivers", "/v1/linked-drivers/token"] {
        let ask = || TestCall::post(target).json(&json!({"phone": PHONE, "email": "ada@x.org"}));
        let strangers = [
            ask(),
            from(ask()),
            from(as_driver(ask(), &id)),
            // Another plugin, and this one on behalf of nobody, or of another than it is said to be.
            ask().plugin_for_organization("wallet", "globex"),
            ask().plugin("fleet"),
            ask().plugin("fleet@globex"),
            from(ask().plugin("fleet")),
            from(ask().plugin("fleet@umbra")),
            from(ask().plugin("fleet@globex2")),
            from(ask()).plugin("fleet@globex").token(),
            // Nothing is looked at before.
            from(TestCall::post(target).text("[")),
        ];
        for stranger in strangers {
            let answer = host.call(stranger);
            refused(&answer, 404, "RESOURCE_NOT_FOUND", "The requested resource was not found");
        }
        assert!(host.issued().is_empty());
    }
    let linked = TestCall::post("/v1/linked-drivers")
        .json(&json!({ "phone": PHONE }))
        .plugin_for_organization("fleet", "globex");
    assert_eq!(host.call(linked).status, 204);
}

#[test]
fn what_nobody_reads_is_told_beside_the_new_token() {
    let (acme, globex) = two();
    let here = ada_here(&acme);
    hired(&globex, &ada());
    let answer =
        post(&acme, &format!("{}/switch-organization", path(&here)), &json!({"next": GLOBEX, "colour": "red"}));
    assert!(answer.headers.contains(&("x-unknown-fields".to_owned(), "colour".to_owned())), "{:?}", answer.headers);
}
