//! Contacts, as far as they are not like every other resource.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;

fn create(host: &TestHost, body: &Value) -> TestAnswer {
    host.call(TestCall::post("/v1/contacts").json(body))
}

fn ada() -> Value {
    json!({"name": "Ada", "type": "customer", "email": "Ada@x.org", "internal_id": "A-1"})
}

#[test]
fn an_email_is_one_contacts_alone() {
    let host = TestHost::new(&PLUGIN);
    create(&host, &ada());
    let again = create(&host, &ada());
    let taken = json!("The email has already been taken.");
    assert_eq!((again.status, again.json()["error"].clone()), (422, taken.clone()));
    let eve = create(&host, &json!({"name": "Eve", "type": "agent"})).json();
    let path = format!("/v1/contacts/{}", eve["id"].as_str().unwrap());
    let stolen = host.call(TestCall::put(&path).json(&json!({"email": "ada@x.org"})));
    assert_eq!((stolen.status, stolen.json()["error"].clone()), (422, taken));
    assert_eq!(host.call(TestCall::post("/v1/contacts").tenant("umbra/test").json(&ada())).status, 201);
}

#[test]
fn a_customer_has_two_names() {
    let host = TestHost::new(&PLUGIN);
    let ada = create(&host, &ada()).json();
    let (id, alias) = (ada["id"].as_str().unwrap(), ada["customer_id"].as_str().unwrap());
    assert_eq!(id.strip_prefix("contact_"), alias.strip_prefix("customer_"));
    for name in [id, alias] {
        assert_eq!(host.call(TestCall::get(&format!("/v1/contacts/{name}"))).json(), ada);
    }
    let agent = host.call(TestCall::put(&format!("/v1/contacts/{id}")).json(&json!({"type": "agent"}))).json();
    assert_eq!(agent["customer_id"], Value::Null);
}

#[test]
fn contacts_are_found_by_their_fields() {
    let host = TestHost::new(&PLUGIN);
    create(&host, &ada());
    create(&host, &json!({"name": "Bob", "type": "agent"}));
    let names = |query: &str| {
        let list = host.call(TestCall::get(&format!("/v1/contacts?{query}"))).json();
        let name = |contact: &Value| contact["name"].as_str().unwrap().to_owned();
        list.as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    for (query, expected) in [
        ("type=customer", &["Ada"][..]),
        ("type=customer,agent&sort=name", &["Ada", "Bob"]),
        ("sort=-name", &["Bob", "Ada"]),
        ("email=ada@x.org", &["Ada"]),
        ("email_isNull=1", &["Bob"]),
        ("internal_id=A-1", &["Ada"]),
        ("internal_id_isNotNull=true", &["Ada"]),
        ("name_like=A%", &["Ada"]),
        ("type=driver", &[]),
    ] {
        assert_eq!(names(query), expected, "{query}");
    }
}
