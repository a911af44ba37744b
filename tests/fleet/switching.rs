//! Drivers who drive for two organizations: "acme" and "globex", which the operator has linked as docs/fleet/organizations.md has it.

use serde_json::{Value, json};

use super::{
    coverage::closed_to_keys,
    other_drivers::said,
    routes::{JSON, PASSWORD},
    stage::{Driver, Stage},
};

const NAMES: &str = r#"
[plugins.fleet.settings.organizations]
acme = ["globex"]
globex = ["acme"]
"#;
const NO_MEMBER: (u16, &str, &str) =
    (400, "ORGANIZATION_NOT_POSSIBLE", "The driver is not a member of this organization.");

/// The operator's word that the drivers of the one organization may go to the other.
fn leads(from: &str, to: &str) -> String {
    format!(
        r#"
[plugins.fleet.destinations.company_{to}]
kind = "plugin"
plugin = "fleet"
organization = "{to}"
tenants = ["{from}"]
"#
    )
}

/// The stage, with the key of globex.
async fn linked() -> (Stage, String) {
    let stage = Stage::open_with(&(leads("acme", "globex") + &leads("globex", "acme") + NAMES)).await;
    let globex = stage.host.key("fleet", "globex").await;
    (stage, globex)
}

fn ada() -> Value {
    json!({"name": "Ada", "email": "ada@example.com", "phone": "+65 91234567", "password": PASSWORD})
}

/// A driver of the organization whose key it is, logged in.
async fn hire(stage: &Stage, key: &str, body: Value) -> Driver {
    let id = stage.call(key, "POST", "/v1/drivers", body.clone()).await.expect(201).text_at("/id");
    let login = json!({"identity": body["email"], "password": PASSWORD});
    let login = stage.call(key, "POST", "/v1/drivers/login", login).await;
    Driver { id, token: login.expect(200).text_at("/token") }
}

fn switch(driver: &str) -> String {
    format!("/v1/drivers/{driver}/switch-organization")
}

async fn organizations(stage: &Stage, driver: &Driver) -> Vec<String> {
    let path = format!("/v1/drivers/{}/organizations", driver.id);
    let listed = stage.call(&driver.token, "GET", &path, Value::Null).await.expect(200).json();
    let listed = listed.as_array().expect("a list").clone();
    listed.iter().map(|one| one["id"].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test]
async fn a_driver_of_two_organizations_goes_to_the_other_one_and_back() {
    let (stage, globex) = linked().await;
    let stage = stage.covers(&["answer of switch-driver-organization"]);
    let (here, there) = (hire(&stage, &stage.key, ada()).await, hire(&stage, &globex, ada()).await);
    assert_eq!(organizations(&stage, &here).await, ["company_acme", "company_globex"]);
    assert_eq!(organizations(&stage, &there).await, ["company_globex", "company_acme"]);
    let next = json!({"next": "company_globex"});
    let gone = stage.call(&here.token, "POST", &switch(&here.id), next).await.expect(200);
    assert_eq!(gone.json()["organization"], json!({"id": "company_globex", "name": "globex"}));
    assert_eq!(
        (gone.text_at("/driver/id"), gone.text_at("/driver/company")),
        (there.id.clone(), "company_globex".into())
    );
    // The new token is his there, and opens nothing here; the old one stays what it was.
    let token = gone.text_at("/driver/token");
    let own = stage.call(&token, "GET", "/v1/organizations/current", Value::Null).await.expect(200);
    assert_eq!(own.text_at("/name"), "globex");
    stage.call(&token, "GET", &format!("/v1/drivers/{}", there.id), Value::Null).await.check(200);
    stage.call(&token, "GET", &format!("/v1/drivers/{}", here.id), Value::Null).await.check(404);
    stage.call(&here.token, "GET", &format!("/v1/drivers/{}", here.id), Value::Null).await.check(200);
    stage.call(&here.token, "GET", &format!("/v1/drivers/{}", there.id), Value::Null).await.check(404);
    let back = stage.call(&token, "POST", &switch(&there.id), json!({"next": "company_acme"})).await.expect(200);
    assert_eq!((back.text_at("/driver/id"), back.text_at("/organization/name")), (here.id.clone(), "acme".into()));
    stage.finish().await;
}

#[tokio::test]
async fn whom_the_other_organization_does_not_know_stays() {
    let (stage, globex) = linked().await;
    let stage = stage.covers(&["code ORGANIZATION_NOT_POSSIBLE"]);
    let here = hire(&stage, &stage.key, ada()).await;
    // With her telephone, and with her address: somebody else.
    for (email, phone) in [("eve@example.com", "+65 91234567"), ("ada@example.com", "+65 90000000")] {
        hire(&stage, &globex, json!({"name": "Eve", "email": email, "phone": phone, "password": PASSWORD})).await;
    }
    let next = json!({"next": "company_globex"});
    stage.refuses_to(&here.token, ("POST", &switch(&here.id), next.clone()), NO_MEMBER).await;
    stage.refuses("POST", &switch(&here.id), next, NO_MEMBER).await;
    assert_eq!(organizations(&stage, &here).await, ["company_acme"]);
    stage.finish().await;
}

#[tokio::test]
async fn nobody_goes_where_the_operator_does_not_lead() {
    let stage = Stage::open_with(&(leads("acme", "globex") + NAMES)).await.covers(&["code ORGANIZATION_NOT_POSSIBLE"]);
    let (globex, umbra) = (stage.host.key("fleet", "globex").await, stage.host.key("fleet", "umbra").await);
    let (acme, globex) = (hire(&stage, &stage.key, ada()).await, hire(&stage, &globex, ada()).await);
    let umbra = hire(&stage, &umbra, ada()).await;
    // One is linked to nobody; one is named, and there is no way to it; one is not named at all.
    for (driver, next) in [(&umbra, "globex"), (&umbra, "acme"), (&globex, "acme"), (&acme, "umbra")] {
        let next = json!({"next": format!("company_{next}")});
        stage.refuses_to(&driver.token, ("POST", &switch(&driver.id), next), NO_MEMBER).await;
    }
    assert_eq!(organizations(&stage, &globex).await, ["company_globex"]);
    assert_eq!(organizations(&stage, &umbra).await, ["company_umbra"]);
    let next = json!({"next": "company_globex"});
    stage.call(&acme.token, "POST", &switch(&acme.id), next).await.check(200);
    stage.finish().await;
}

#[tokio::test]
async fn each_environment_is_a_world_of_its_own() {
    let (stage, _) = linked().await;
    let stage = stage.covers(&["code ORGANIZATION_NOT_POSSIBLE"]);
    let live = async |organization: &str| {
        let key = json!({"plugin": "fleet", "tenant": organization, "environment": "live"});
        stage.host.create_key(key).await["key"].as_str().expect("a key").to_owned()
    };
    let (acme_live, globex_live) = (live("acme").await, live("globex").await);
    let test = hire(&stage, &stage.key, ada()).await;
    let (here, there) = (hire(&stage, &acme_live, ada()).await, hire(&stage, &globex_live, ada()).await);
    let next = json!({"next": "company_globex"});
    stage.refuses_to(&test.token, ("POST", &switch(&test.id), next.clone()), NO_MEMBER).await;
    let gone = stage.call(&here.token, "POST", &switch(&here.id), next).await.expect(200);
    assert_eq!(gone.text_at("/driver/id"), there.id);
    assert!(gone.text_at("/driver/token").starts_with("tok_live_"));
    stage.finish().await;
}

/// What the plugin asks itself for another organization, asked by everybody else.
#[tokio::test]
async fn no_key_and_no_token_asks_what_linked_organizations_ask_each_other() {
    let (stage, globex) = linked().await;
    let stage = stage.covers(&["*-linked-driver with any key: no such path"]);
    let (here, there) = (hire(&stage, &stage.key, ada()).await, hire(&stage, &globex, ada()).await);
    let body = || json!({"phone": "+6591234567", "email": "ada@example.com"}).to_string().into_bytes();
    let headers = [JSON[0], ("x-organization", "acme"), ("x-tenant", "globex/test")];
    for (operation, path) in
        [("find-linked-driver", "/v1/linked-drivers"), ("open-linked-driver", "/v1/linked-drivers/token")]
    {
        for key in [&stage.key, &globex, &here.token, &there.token] {
            let nowhere =
                stage.send(key, "GET", "/v1/drivers/driver_0000000000", &headers, Vec::new()).await.expect(404);
            for body in [body(), b"[".to_vec(), b"{}".to_vec()] {
                let answer = stage.send(key, "POST", path, &headers, body).await;
                assert_eq!(said(&answer), said(&nowhere), "{path}");
            }
        }
        stage.seen.note(&closed_to_keys(operation));
    }
    stage.finish().await;
}
