use std::path::PathBuf;

use super::*;
use crate::config::{Config, Flags, Mistake, file};

const HEAD: &str = "[plugins.notes]\ncomponent = \"x\"\n[plugins.notes.destinations.bank]\n";

fn read_with(purpose: Purpose, text: &str, folder: &Path) -> Result<Config, String> {
    let variables = Variables::from_pairs([("BANK_TOKEN", "hunter2"), ("TENON_MASTER_KEY", &"ab".repeat(32))]);
    let (path, flags) = (folder.join("plugins.toml"), Flags::default());
    let source = file::Source { path: &path, flags: &flags, variables: &variables, purpose, open_files_max: None };
    let found = file::read(&source, text);
    found.map_err(|mistakes| mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n"))
}

fn read(keys: &str) -> Result<Arc<DestinationConfig>, String> {
    let config = read_with(Purpose::Serve, &format!("{HEAD}{keys}"), &PathBuf::from("/etc/tenon"))?;
    Ok(config.plugins["notes"].destinations["bank"].clone())
}

fn secret(text: &str) -> SecretText {
    SecretText::new(text.to_owned())
}

#[test]
fn destination_is_available_in_both_environments_by_default() {
    let both = read("base-url = \"https://bank.example/v1\"").unwrap();
    let base_url = "https://bank.example/v1".to_owned();
    assert_eq!(both.kind, DestinationKind::Server { base_url, login: Login::None });
    assert_eq!((both.timeout_ms, both.is_for("acme/test"), both.is_for("acme/live")), (None, true, true));
    let test = read("base-url = \"http://bank.internal\"\nenvironments = [\"test\"]\ntimeout-ms = 500").unwrap();
    assert_eq!((test.timeout_ms, test.is_for("acme/test"), test.is_for("acme/live")), (Some(500), true, false));
}

#[test]
fn destination_may_be_limited_to_tenants() {
    let named = |tenants: &str| read(&format!("base-url = \"https://a.example\"\n{tenants}")).unwrap();
    for (tenants, expected) in [
        ("", [true, true, true, true]),
        ("tenants = []", [true, true, true, true]),
        ("tenants = [\"bank\"]", [true, true, false, false]),
        ("tenants = [\"bank/live\", \"hub\"]", [false, true, true, false]),
    ] {
        let named = named(tenants);
        let available = ["bank/test", "bank/live", "hub/test", "bankers/live"].map(|tenant| named.is_named_for(tenant));
        assert_eq!(available, expected, "{tenants}");
    }
}

#[test]
fn plugin_destination_acts_for_the_caller_or_the_configured_organization() {
    let same = read("kind = \"plugin\"\nplugin = \"books\"\n[plugins.books]\ncomponent = \"x\"").unwrap();
    assert_eq!(same.kind, DestinationKind::Plugin { name: "books".into(), organization: None });
    let keys = "kind = \"plugin\"\nplugin = \"notes\"\norganization = \"globex\"\ntenants = [\"acme\"]";
    let other = read(keys).unwrap();
    assert_eq!(other.kind, DestinationKind::Plugin { name: "notes".into(), organization: Some("globex".into()) });
    assert_eq!(["acme/test", "umbra/test"].map(|tenant| other.is_named_for(tenant)), [true, false]);
}

#[test]
fn secrets_come_from_variables_and_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret"), "  s3cret \nanother line\n").unwrap();
    let text = format!(
        "{HEAD}base-url = \"https://a.example\"\nkind = \"oauth2\"\ntoken-url = \"https://id.example/t\"\n\
         client-id = \"me\"\nclient-secret = \"file:secret\"\nclient-authentication = \"post\"\n\
         [plugins.notes.destinations.other]\nbase-url = \"https://b.example\"\nkind = \"bearer\"\ntoken = \"env:BANK_TOKEN\""
    );
    let config = read_with(Purpose::Serve, &text, folder.path()).unwrap();
    let destinations = &config.plugins["notes"].destinations;
    let DestinationKind::Server { login: Login::OAuth2(client), .. } = &destinations["bank"].kind else { panic!() };
    assert_eq!(client.client_secret, secret("s3cret"));
    let DestinationKind::Server { login, .. } = &destinations["other"].kind else { panic!() };
    assert_eq!(login, &Login::Bearer { token: secret("hunter2") });
    let debug = format!("{config:?}");
    assert!(!debug.contains("hunter2") && !debug.contains("s3cret"), "{debug}");
}

#[test]
fn secret_file_that_is_a_fifo_or_empty_or_long_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    regular_file::make_fifo(&path("fifo"));
    std::fs::write(path("empty"), "\n").unwrap();
    std::fs::write(path("long"), "x".repeat(DESTINATION_VALUE_BYTES_MAX + 1)).unwrap();
    for (file, expected) in [
        ("fifo", "fifo: it is a FIFO, not a regular file"),
        ("empty", "empty: its first line is empty"),
        ("long", "long: it has more than"),
    ] {
        let keys = format!("base-url = \"https://a.example\"\nkind = \"bearer\"\ntoken = \"file:{file}\"");
        let found = read_with(Purpose::Serve, &format!("{HEAD}{keys}"), folder.path()).unwrap_err();
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn destination_of_live_tenants_requires_tls() {
    let open = "base-url = \"http://bank.internal\"\n";
    assert!(read(open).unwrap_err().contains("`plugins.notes.destinations.bank.base-url` must begin with https://"));
    assert!(read(&format!("{open}plain-http = true")).is_ok());
    for loopback in ["127.0.0.1:80", "[::1]", "localhost:8000"] {
        assert!(read(&format!("base-url = \"http://{loopback}\"")).is_ok(), "{loopback}");
    }
    let token = "base-url = \"https://a.example\"\nkind = \"oauth2\"\ntoken-url = \"http://id.example\"\n\
                 client-id = \"me\"\nclient-secret = \"env:BANK_TOKEN\"";
    assert!(read(token).unwrap_err().contains("bank.token-url` must begin with https://"));
}

#[test]
fn every_mistake_is_reported_without_secrets() {
    for (keys, expected) in [
        ("", "line 3: `plugins.notes.destinations.bank.base-url` is missing"),
        ("base-url = \"bank\"", "line 4: `plugins.notes.destinations.bank.base-url`: this is not an address"),
        ("base-url = \"https://a.example/?x\"", "must not contain a query"),
        (
            "base-url = \"https://a.example\"\nkind = \"digest\"",
            "line 5: `plugins.notes.destinations.bank.kind`: there is no kind",
        ),
        ("base-url = \"https://a.example\"\nkind = \"bearer\"", "needs the secret \"token\""),
        (
            "base-url = \"https://a.example\"\nkind = \"bearer\"\ntoken = \"hunter2\"",
            "must be \"env:NAME\" or \"file:PATH\"",
        ),
        (
            "base-url = \"https://a.example\"\nkind = \"bearer\"\ntoken = \"env:NO_SUCH\"",
            "the variable NO_SUCH is not set",
        ),
        ("base-url = \"https://a.example\"\nkind = \"bearer\"\ntoken = \"file:none\"", "none: No such file"),
        ("base-url = \"https://a.example\"\nkind = \"bearer\"\ntoken = \"file:/dev/zero\"", "it is a device"),
        ("base-url = \"https://a.example\"\nuser = \"me\"", "the kind \"none\" has no setting \"user\""),
        ("base-url = \"https://a.example\"\ntokn = \"x\"", "Did you mean `token`?"),
        ("base-url = \"https://a.example\"\nenvironments = [\"prod\"]", "must contain only \"test\" and \"live\""),
        ("base-url = \"https://a.example\"\ntenants = [\"bank/prod\"]", "must contain only organizations"),
        ("base-url = \"https://a.example\"\nplain-http = 1", "must be true or false"),
        ("base-url = \"https://a.example\"\nkind = \"outbox\"", "an outbox has no URL"),
        ("base-url = \"https://a.example\"\nkind = \"plugin\"\nplugin = \"notes\"", "a plugin has no URL"),
        ("kind = \"plugin\"\norganization = \"globex\"\ntenants = [\"acme\"]", "bank.plugin` is missing"),
        (
            "kind = \"plugin\"\nplugin = \"notes\"\norganization = \"globex\"",
            "`plugins.notes.destinations.bank.organization` requires `plugins.notes.destinations.bank.tenants`",
        ),
        (
            "kind = \"plugin\"\nplugin = \"notes\"\norganization = \"globex/live\"\ntenants = [\"acme\"]",
            "line 6: `plugins.notes.destinations.bank.organization` must be an organization",
        ),
        (
            "base-url = \"https://a.example\"\norganization = \"globex\"",
            "`plugins.notes.destinations.bank.organization` is not a known key",
        ),
    ] {
        let found = read(keys).unwrap_err();
        assert!(found.contains(expected), "{keys}\n{found}");
        assert!(!found.contains("hunter2"), "{found}");
        assert!(!keys.contains("token =") || !found.contains("needs the secret"), "{found}");
    }
    let name = read_with(
        Purpose::Serve,
        "[plugins.notes]\ncomponent = \"x\"\n[plugins.notes.destinations.\"a b\"]\nkind = \"outbox\"",
        Path::new("."),
    );
    assert!(name.unwrap_err().contains("\"a b\" is not a valid destination name"));
}

#[test]
fn outbox_is_not_allowed_in_production() {
    let outbox = format!("{HEAD}kind = \"outbox\"");
    assert!(read("kind = \"outbox\"").is_ok());
    let found = read_with(Purpose::Serve, &format!("environment = \"production\"\n{outbox}"), Path::new("."));
    assert!(found.unwrap_err().contains("must not be \"outbox\" in production"));
}

#[test]
fn inspect_does_not_require_secrets() {
    let text = format!("{HEAD}base-url = \"https://a.example\"\nkind = \"bearer\"\ntoken = \"env:NO_SUCH\"");
    assert!(read_with(Purpose::Serve, &text, Path::new(".")).is_err());
    assert!(read_with(Purpose::Inspect, &text, Path::new(".")).is_ok());
}
