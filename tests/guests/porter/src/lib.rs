//! A guest that hands out keys and tokens as a test asks for them, checks passwords, and shows who calls.

use serde::Deserialize;
use serde_json::{Value, json};
use tenon_plugin::{
    Answer, Call, EventType, Outcome, Plugin, Refusal, Stop,
    credentials::{Credential, Grant},
    delete, get, json, post,
    subscriptions::{Endpoint, Signature},
};

pub static PLUGIN: Plugin = Plugin::new("porter", "1.0.0")
    .tokens()
    .routes(&[
        get("/v1/me", "show-me", show_me),
        get("/v1/rooms", "list-rooms", show_me).scopes(&["rooms.read"]),
        post("/v1/rooms", "write-room", show_me),
        get("/v1/doors/{ticket}/state", "show-door", show_door).key_parameter("ticket"),
        post("/v1/doors/{ticket}", "use-door", show_door).key_parameter("ticket"),
        post("/v1/grants", "issue", issue),
        get("/v1/grants", "find", find),
        delete("/v1/grants", "revoke-all", revoke_all),
        delete("/v1/grants/{id}", "revoke", revoke),
        post("/v1/rotations", "rotate", rotate),
        post("/v1/passwords", "hash-password", hash_password),
        post("/v1/passwords/verified", "verify-password", verify_password),
        post("/v1/hooks/{id}", "put-hook", put_hook),
        post("/v1/hooks/{id}/test", "test-hook", test_hook),
    ])
    .event_types(&[EventType::new("knocked", "", "{}")]);

tenon_plugin::export!(PLUGIN);

/// What a test wants to be issued.
#[derive(Deserialize)]
struct Wish {
    #[serde(default)]
    token: bool,
    #[serde(default)]
    label: String,
    attributes: Vec<(String, String)>,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    expires_in: Option<u64>,
    #[serde(default)]
    signs: bool,
    /// "refuse" or "fail" after it was issued.
    #[serde(default)]
    then: String,
}

#[derive(Deserialize)]
struct Password {
    password: String,
    hash: Option<String>,
}

#[derive(Deserialize)]
struct Hook {
    url: String,
    key: String,
}

fn show_me(call: &Call) -> Outcome {
    Ok(Answer::ok(json::to_text(&me(call))?))
}

fn me(call: &Call) -> Value {
    let principal = call.principal();
    let attributes: Vec<_> = principal.attributes.iter().map(|pair| (&pair.name, &pair.value)).collect();
    json!({ "kind": principal.kind, "subject": principal.subject, "tenant": principal.tenant,
            "scopes": principal.scopes, "attributes": attributes, "now": call.now() })
}

fn show_door(call: &Call) -> Outcome {
    let mut shown = me(call);
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("path".to_owned(), json!(call.request().path));
        shown.insert("ticket".to_owned(), json!(call.parameter("ticket")));
    }
    Ok(Answer::ok(json::to_text(&shown)?))
}

fn issue(call: &Call) -> Outcome {
    let wish: Wish = call.json()?;
    let pairs =
        wish.attributes.iter().map(|(name, value)| tenon_plugin::Pair { name: name.clone(), value: value.clone() });
    let grant = Grant {
        label: wish.label,
        attributes: pairs.collect(),
        scopes: wish.scopes,
        expires_at: wish.expires_in.map(|ms| call.now() + ms),
        signs: wish.signs,
    };
    let credentials = call.credentials();
    let issued = if wish.token { credentials.issue_token(&grant) } else { credentials.issue_key(&grant) };
    match wish.then.as_str() {
        "refuse" => return Err(Refusal::new(409, "no", issued.secret).into()),
        "fail" => return Err(Stop::fault("broken on purpose")),
        _ => {}
    }
    let found = wish.attributes.first().map_or(0, |(name, value)| credentials.find(name, value).len());
    Ok(Answer::created(json::to_text(&json!({ "id": issued.id, "secret": issued.secret, "found": found }))?))
}

fn asked<'a>(call: &'a Call) -> (&'a str, &'a str) {
    (call.query("name").unwrap_or_default(), call.query("value").unwrap_or_default())
}

fn find(call: &Call) -> Outcome {
    let (name, value) = asked(call);
    let found: Vec<Value> = call.credentials().find(name, value).iter().map(shown).collect();
    Ok(Answer::ok(json::to_text(&found)?))
}

fn shown(one: &Credential) -> Value {
    json!({ "id": one.id, "kind": one.kind, "label": one.label, "created_at": one.created_at,
            "expires_at": one.expires_at, "last_used_at": one.last_used_at })
}

fn revoke(call: &Call) -> Outcome {
    Ok(Answer::ok(call.credentials().revoke(call.parameter("id")).to_string()))
}

fn revoke_all(call: &Call) -> Outcome {
    let (name, value) = asked(call);
    Ok(Answer::ok(call.credentials().revoke_all(name, value).to_string()))
}

/// A new key in the place of all that are of the same room as the one that calls.
fn rotate(call: &Call) -> Outcome {
    let attributes = call.principal().attributes.clone();
    call.credentials().revoke_all("room", call.attribute("room").unwrap_or_default());
    let grant = Grant { label: "rotated".to_owned(), attributes, scopes: Vec::new(), expires_at: None, signs: true };
    let issued = call.credentials().issue_key(&grant);
    Ok(Answer::created(json::to_text(&json!({ "id": issued.id, "secret": issued.secret }))?))
}

fn hash_password(call: &Call) -> Outcome {
    let Password { password, .. } = call.json()?;
    Ok(Answer::ok(json::to_text(&call.credentials().hash_password(&password))?))
}

fn verify_password(call: &Call) -> Outcome {
    let Password { password, hash } = call.json()?;
    Ok(Answer::ok(call.credentials().verify_password(&password, hash.as_deref()).to_string()))
}

fn put_hook(call: &Call) -> Outcome {
    let Hook { url, key } = call.json()?;
    let signature = Signature {
        header: "x-service-signature".to_owned(),
        prefix: String::new(),
        algorithm: "hmac-sha512".to_owned(),
        key,
    };
    let put = call.subscriptions().put(&Endpoint {
        id: call.parameter("id").to_owned(),
        url,
        event_types: Vec::new(),
        subjects: Vec::new(),
        enabled: true,
        signatures: vec![signature],
        note: "{}".to_owned(),
    });
    put.map_err(|refusal| Refusal::new(422, "malformed", format!("{refusal:?}")))?;
    Ok(Answer::empty())
}

fn test_hook(call: &Call) -> Outcome {
    let sent = call.subscriptions().send_test(call.parameter("id"), "knocked", "{}");
    Ok(Answer::ok(json::to_text(&sent)?))
}
