//! Routing without wasm: the owner is a name.

use super::*;
use crate::config::PluginLimits;
use proptest::prelude::*;

fn mounted(plugin: &'static str, mount: &str, routes: &[(&str, &str)]) -> Mounted<&'static str> {
    let routes: Vec<_> = routes
        .iter()
        .enumerate()
        .map(
            |(i, (method, path))| serde_json::json!({ "operation": format!("op-{i}"), "method": method, "path": path }),
        )
        .collect();
    mounted_from(plugin, mount, serde_json::json!(routes))
}

fn mounted_from(plugin: &'static str, mount: &str, routes: serde_json::Value) -> Mounted<&'static str> {
    let manifest: manifest::Manifest = serde_json::from_value(serde_json::json!({
        "contract": "0.1", "name": plugin, "version": "1.0.0", "routes": routes,
        "authentication": { "header": "x-api-key" },
    }))
    .unwrap();
    let config = PluginConfig {
        component: "x.wasm".into(),
        mount: mount.to_owned(),
        grants: Vec::new(),
        shows_private_keys: false,
        origin_headers: Vec::new(),
        examples: Vec::new(),
        limits: PluginLimits::default(),
        webhooks: Default::default(),
        tasks: Default::default(),
        destinations: BTreeMap::new(),
        settings: BTreeMap::new(),
    };
    Mounted {
        owner: plugin,
        plugin: plugin.into(),
        number: 1,
        error_bodies: Arc::new(ErrorBodies::compile(&manifest).unwrap()),
        manifest: Arc::new(manifest),
        config: Arc::new(config),
    }
}

fn two_plugins() -> RouteTable<&'static str> {
    let notes = mounted(
        "notes",
        "/",
        &[
            ("GET", "/v1/notes"),
            ("POST", "/v1/notes"),
            ("GET", "/v1/notes/{id}"),
            ("DELETE", "/v1/notes/{note}"),
            ("GET", "/v1/notes/{id}/pages/{page}"),
            ("GET", "/v1/notes/latest"),
        ],
    );
    let things = mounted("things", "/", &[("GET", "/v2/things/{id}"), ("PUT", "/v2/things/{id}")]);
    RouteTable::build(vec![notes, things]).unwrap()
}

/// Returns the outcome as one line, which is easier to compare than the values.
fn outcome(table: &RouteTable<&'static str>, method: &str, path: &str) -> String {
    match table.find(&method.parse().unwrap(), path) {
        RouteMatch::Route { owner, route, parameters } => {
            let parameters: Vec<_> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{} {} {}", owner.owner, route.declared.operation, parameters.join(",")).trim_end().to_owned()
        }
        RouteMatch::Options { owner, allow } => format!("{} options {}", owner.owner, allow.to_str().unwrap()),
        RouteMatch::MethodNotAllowed { owner, allow } => format!("{} allow {}", owner.owner, allow.to_str().unwrap()),
        RouteMatch::UnsupportedVersion { owner } => format!("{} version", owner.owner),
        RouteMatch::NotFound { owner } => format!("{} none", owner.map_or("-", |owner| owner.owner)),
    }
}

#[test]
fn request_is_routed_to_its_operation_with_parameters() {
    let table = two_plugins();
    for (method, path, expected) in [
        ("GET", "/v1/notes", "notes op-0"),
        ("POST", "/v1/notes", "notes op-1"),
        ("GET", "/v1/notes/n1", "notes op-2 id=n1"),
        ("DELETE", "/v1/notes/n1", "notes op-3 note=n1"),
        ("GET", "/v1/notes/n1/pages/2", "notes op-4 id=n1,page=2"),
        ("GET", "/v1/notes/latest", "notes op-5"),
        ("PUT", "/v2/things/t1", "things op-1 id=t1"),
        ("HEAD", "/v1/notes", "notes op-0"),
        ("OPTIONS", "/v1/notes", "notes options GET, HEAD, POST, OPTIONS"),
        ("PATCH", "/v1/notes/n1", "notes allow GET, HEAD, DELETE, OPTIONS"),
        ("TRACE", "/v1/notes", "notes allow GET, HEAD, POST, OPTIONS"),
    ] {
        assert_eq!(outcome(&table, method, path), expected, "{method} {path}");
    }
}

#[test]
fn unserved_version_is_reported_by_the_plugin_that_serves_another() {
    let table = two_plugins();
    for (path, expected) in [
        ("/v9/notes", "notes version"),
        ("/v9/notes/n1/pages/2", "notes version"),
        ("/v2/notes", "notes version"),
        ("/v1/things/t1", "things version"),
        ("/v9/unknown", "- none"),
        ("/v9", "- none"),
        ("/vx/notes", "- none"),
        ("/v1/notes/a/b/c/d", "notes none"),
    ] {
        assert_eq!(outcome(&table, "POST", path), expected, "{path}");
    }
}

#[test]
fn unknown_path_gets_the_error_body_of_the_nearest_plugin() {
    let table = two_plugins();
    for (path, expected) in [
        ("/v1/notes/n1/colours", "notes none"),
        ("/v2/things", "things none"),
        ("/v1/other", "- none"),
        ("/favicon.ico", "- none"),
        ("*", "- none"),
        ("", "- none"),
    ] {
        assert_eq!(outcome(&table, "GET", path), expected, "{path}");
    }
    let alone = RouteTable::build(vec![mounted("notes", "/", &[("GET", "/v1/notes")])]).unwrap();
    assert_eq!(outcome(&alone, "GET", "/favicon.ico"), "notes none");
}

#[test]
fn path_may_belong_below_a_mount_unless_a_longer_one_is_served() {
    let table =
        RouteTable::build(vec![mounted("notes", "/", &[("GET", "/v1/notes")]), mounted("things", "/things", &[])]);
    let table = table.unwrap();
    let may = |path: &str, mounts: &[&str]| table.may_belong_below(path, mounts);
    assert!(may("/v1/orders", &["/"]));
    assert!(!may("/things/none", &["/"]), "things serves below a longer mount");
    assert!(may("/things/none", &["/things"]));
    assert!(!may("/v1/orders", &["/rules"]));
    assert!(!may("/v1/orders", &[]));
}

#[test]
fn path_has_one_spelling() {
    let table = two_plugins();
    for (path, expected) in [
        ("/v1/notes/", "notes none"),
        ("/v1//notes", "- none"),
        ("//v1/notes", "- none"),
        ("/v1/./notes", "- none"),
        ("/v1/%6Eotes", "- none"),
        ("/v1/notes/..", "notes none"),
        ("/v1/notes/%2e%2E", "notes none"),
        ("/v1/notes//pages/2", "notes none"),
        ("/v1/notes/a%2Fb", "notes op-2 id=a/b"),
        ("/v1/notes/a%252Fb", "notes op-2 id=a%2Fb"),
        ("/v1/notes/%C3%A9", "notes op-2 id=é"),
        ("/v1/notes/%FF", "notes none"),
        ("/v1/notes/a%00b", "notes none"),
        ("/v1/notes/a+b", "notes op-2 id=a+b"),
        ("/v1/notes/%zz", "notes op-2 id=%zz"),
    ] {
        assert_eq!(outcome(&table, "GET", path), expected, "{path}");
    }
}

#[test]
fn mount_precedes_every_path() {
    let table = RouteTable::build(vec![
        mounted("notes", "/a", &[("GET", "/v1/notes")]),
        mounted("things", "/b", &[("GET", "/v1/notes")]),
    ])
    .unwrap();
    for (path, expected) in [
        ("/a/v1/notes", "notes op-0"),
        ("/b/v1/notes", "things op-0"),
        ("/b/v2/notes", "things version"),
        ("/b/else", "things none"),
        ("/bb/v1/notes", "- none"),
        ("/v1/notes", "- none"),
    ] {
        assert_eq!(outcome(&table, "GET", path), expected, "{path}");
    }
}

#[test]
fn overlapping_plugins_are_rejected_and_both_are_named() {
    let conflicts = RouteTable::build(vec![
        mounted("notes", "/", &[("GET", "/v1/notes/{id}")]),
        mounted("things", "/", &[("POST", "/v1/notes/latest"), ("GET", "/v1/things")]),
    ])
    .unwrap_err();
    assert_eq!(conflicts.len(), 1);
    assert_eq!(
        conflicts[0].to_string(),
        "plugin \"things\": POST /v1/notes/latest (op-0) overlaps with GET /v1/notes/{id} (op-0) of plugin \"notes\": \
         some path matches both"
    );
}

#[test]
fn all_invalid_routes_are_reported() {
    let conflicts = RouteTable::build(vec![mounted(
        "notes",
        "/",
        &[
            ("GET", "/v1/notes"),
            ("GET", "/v1/notes"),
            ("FETCH", "/v1/x"),
            ("GET", "v1/x"),
            ("GET", "/docs"),
            ("GET", "/{anything}"),
            ("GET", "/openapi/{name}"),
            ("GET", "/"),
            ("POST", "/oauth2/token"),
            ("GET", "/.well-known/{name}"),
        ],
    )])
    .unwrap_err();
    let text = conflicts.iter().map(RouteConflict::to_string).collect::<Vec<_>>().join("\n");
    assert_eq!(conflicts.len(), 9, "{text}");
    assert!(matches!(conflicts[0], RouteConflict::Invalid { .. }));
    assert_eq!(conflicts.iter().filter(|conflict| matches!(conflict, RouteConflict::HostPage { .. })).count(), 6);
    assert_eq!(conflicts.iter().filter(|conflict| matches!(conflict, RouteConflict::Duplicate { .. })).count(), 1);
}

#[test]
fn route_cannot_request_credentials_or_unknown_values() {
    for (member, value) in [
        ("headers", "authorization"),
        ("headers", "x-api-key"),
        ("headers", "X-Note"),
        ("headers", "a b"),
        ("context", "moon-phase"),
    ] {
        let mut route = serde_json::json!({ "operation": "a", "method": "GET", "path": "/v1/a" });
        route[member] = serde_json::json!([value]);
        let built = RouteTable::build(vec![mounted_from("notes", "/", serde_json::json!([route]))]);
        assert!(built.is_err(), "{member} {value}");
    }
}

#[test]
fn key_parameter_must_be_in_the_path_of_a_route_that_is_not_open() {
    let build = |name: &str, open: bool| {
        let route = serde_json::json!({ "operation": "a", "method": "GET", "path": "/v1/a/{ticket}", "open": open,
            "key-parameter": name });
        RouteTable::build(vec![mounted_from("notes", "/", serde_json::json!([route]))])
    };
    assert!(build("ticket", false).is_ok());
    for (name, open, reason) in
        [("note", false, "no parameter \"note\""), ("ticket", true, "an open route takes no token")]
    {
        let conflicts = build(name, open).unwrap_err();
        assert!(conflicts[0].to_string().contains(reason), "{}", conflicts[0]);
    }
}

proptest! {
    #[test]
    fn hostile_paths_never_panic_and_parameters_are_valid(path in "(/|/v1/notes/|//|%2e|%00|%FF|\\PC|[a-z{}*.]){0,12}") {
        let table = two_plugins();
        for method in [Method::GET, Method::OPTIONS, Method::PATCH] {
            if let RouteMatch::Route { parameters, .. } = table.find(&method, &path) {
                for (_, value) in parameters {
                    prop_assert!(!value.is_empty() && value != "." && value != ".." && !value.chars().any(char::is_control));
                }
            }
        }
    }
}

/// Each lookup would take seconds if it scanned the path once for every slash.
#[test]
fn path_of_slashes_is_cheap() {
    let table = two_plugins();
    let path = "/".repeat(60_000);
    for _ in 0..500 {
        assert!(matches!(table.find(&Method::GET, &path), RouteMatch::NotFound { .. }));
    }
}
