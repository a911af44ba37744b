//! Test guest that issues, finds and revokes keys and tokens, verifies passwords, registers webhooks, and returns its
//! caller.

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

/// Body of a request for a key or token.
#[derive(Deserialize)]
struct GrantInput {
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
    /// Result after the issue: "refuse" or "fail".
    #[serde(default)]
    then: String,
}

#[derive(Deserialize)]
struct PasswordInput {
    password: String,
    hash: Option<String>,
}

#[derive(Deserialize)]
struct HookInput {
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
    let mut caller = me(call);
    if let Some(members) = caller.as_object_mut() {
        members.insert("path".to_owned(), json!(call.request().path));
        members.insert("ticket".to_owned(), json!(call.parameter("ticket")));
    }
    Ok(Answer::ok(json::to_text(&caller)?))
}

fn issue(call: &Call) -> Outcome {
    let input: GrantInput = call.json()?;
    let pairs =
        input.attributes.iter().map(|(name, value)| tenon_plugin::Pair { name: name.clone(), value: value.clone() });
    let grant = Grant {
        label: input.label,
        attributes: pairs.collect(),
        scopes: input.scopes,
        expires_at: input.expires_in.map(|ms| call.now() + ms),
        signs: input.signs,
    };
    let credentials = call.credentials();
    let issued = if input.token { credentials.issue_token(&grant) } else { credentials.issue_key(&grant) };
    match input.then.as_str() {
        "refuse" => return Err(Refusal::new(409, "no", issued.secret).into()),
        "fail" => return Err(Stop::fault("broken on purpose")),
        _ => {}
    }
    let found = input.attributes.first().map_or(0, |(name, value)| credentials.find(name, value).len());
    Ok(Answer::created(json::to_text(&json!({ "id": issued.id, "secret": issued.secret, "found": found }))?))
}

fn requested_attribute<'a>(call: &'a Call) -> (&'a str, &'a str) {
    (call.query("name").unwrap_or_default(), call.query("value").unwrap_or_default())
}

fn find(call: &Call) -> Outcome {
    let (name, value) = requested_attribute(call);
    let found: Vec<Value> = call.credentials().find(name, value).iter().map(credential_json).collect();
    Ok(Answer::ok(json::to_text(&found)?))
}

fn credential_json(credential: &Credential) -> Value {
    json!({ "id": credential.id, "kind": credential.kind, "label": credential.label,
            "created_at": credential.created_at, "expires_at": credential.expires_at,
            "last_used_at": credential.last_used_at })
}

fn revoke(call: &Call) -> Outcome {
    Ok(Answer::ok(call.credentials().revoke(call.parameter("id")).to_string()))
}

fn revoke_all(call: &Call) -> Outcome {
    let (name, value) = requested_attribute(call);
    Ok(Answer::ok(call.credentials().revoke_all(name, value).to_string()))
}

/// Replaces all keys of the caller's room by a new one.
fn rotate(call: &Call) -> Outcome {
    let attributes = call.principal().attributes.clone();
    call.credentials().revoke_all("room", call.attribute("room").unwrap_or_default());
    let grant = Grant { label: "rotated".to_owned(), attributes, scopes: Vec::new(), expires_at: None, signs: true };
    let issued = call.credentials().issue_key(&grant);
    Ok(Answer::created(json::to_text(&json!({ "id": issued.id, "secret": issued.secret }))?))
}

fn hash_password(call: &Call) -> Outcome {
    let PasswordInput { password, .. } = call.json()?;
    Ok(Answer::ok(json::to_text(&call.credentials().hash_password(&password))?))
}

fn verify_password(call: &Call) -> Outcome {
    let PasswordInput { password, hash } = call.json()?;
    Ok(Answer::ok(call.credentials().verify_password(&password, hash.as_deref()).to_string()))
}

fn put_hook(call: &Call) -> Outcome {
    let HookInput { url, key } = call.json()?;
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
