use super::*;
use crate::config::{Config, Flags, Mistake, Variables, file};

fn read(text: &str) -> Result<Config, String> {
    let variables = Variables::from_pairs([("TENON_MASTER_KEY", "ab".repeat(32).as_str())]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("keys.json"), "{\"keys\":[]}").unwrap();
    regular_file::make_fifo(&folder.path().join("fifo"));
    let (path, flags) = (folder.path().join("plugins.toml"), Flags::default());
    let source = file::Source {
        path: &path,
        flags: &flags,
        variables: &variables,
        purpose: Purpose::Serve,
        open_files_max: None,
    };
    file::read(&source, text).map_err(|mistakes| mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n"))
}

#[test]
fn issuer_is_none_by_default() {
    let none = read("").unwrap().oauth;
    assert_eq!((none.issuer, none.algorithm.as_str(), none.token_ms), (None, "ES256", 600_000));
    let named =
        read("[oauth]\nissuer = \"https://api.example\"\nalgorithm = \"RS256\"\ntoken-ms = 60_000").unwrap().oauth;
    let expected = (Some("https://api.example".to_owned()), "RS256".to_owned(), 60_000);
    assert_eq!((named.issuer, named.algorithm, named.token_ms), expected);
}

#[test]
fn issuer_must_be_an_origin_and_use_tls_in_production() {
    for (issuer, development, production) in [
        ("https://api.example", true, true),
        ("http://127.0.0.1:8080", true, false),
        ("https://api.example/", false, false),
        ("https://api.example/path", false, false),
        ("api.example", false, false),
    ] {
        let text = |environment: &str| format!("environment = \"{environment}\"\n[oauth]\nissuer = \"{issuer}\"");
        assert_eq!(read(&text("development")).is_ok(), development, "{issuer}");
        assert_eq!(read(&text("production")).is_ok(), production, "{issuer}");
    }
    assert!(read("[oauth]\nalgorithm = \"none\"").unwrap_err().contains("`oauth.algorithm` must not be \"none\""));
    assert!(read("[oauth]\nalgorithm = \"HS256\"").is_err());
}

#[test]
fn external_issuer_maps_clients_to_tenants() {
    let whole = "[plugins.notes]\ncomponent = \"x\"\n[oauth.issuers.bank]\nissuer = \"https://id.bank.example\"\nplugin = \"notes\"\naudience = \"notes\"\n\
                 jwks-file = \"keys.json\"\n[oauth.issuers.bank.clients]\n\"a b\" = \"acme/live\"\n";
    let bank = read(whole).unwrap().oauth.issuers.remove(0);
    assert_eq!((&*bank.name, &*bank.token_type, &bank.tenant_claim), ("bank", "at+jwt", &None));
    assert_eq!(bank.keys, IssuerKeys::Text("{\"keys\":[]}".to_owned()));
    assert_eq!(bank.clients["a b"], "acme/live");
    for (from, to, expected) in [
        ("\"acme/live\"", "\"acme\"", "must be a tenant"),
        ("\"acme/live\"", "\"acme/prod\"", "must be a tenant"),
        ("audience = \"notes\"\n", "", "`oauth.issuers.bank.audience` is missing"),
        ("jwks-file = \"keys.json\"\n", "", "set either"),
        ("keys.json", "nowhere.json", "nowhere.json"),
        ("keys.json", "fifo", "fifo: it is a FIFO, not a regular file"),
        ("keys.json", "/dev/zero", "it is a device, not a regular file"),
        ("jwks-file = \"keys.json\"", "jwks-url = \"ftp://id.bank.example\"", "jwks-url"),
        ("[oauth.issuers.bank.clients]\n\"a b\" = \"acme/live\"\n", "", "no client has a tenant"),
        ("plugins.notes", "plugins.things", "there is no plugin \"notes\""),
        ("audience", "audiance", "is not a known key"),
    ] {
        let mistakes = read(&whole.replace(from, to)).unwrap_err();
        assert!(mistakes.contains(expected), "{mistakes}");
    }
}

#[test]
fn token_type_of_an_external_issuer_is_normalized() {
    for (given, expected) in [("at+jwt", "at+jwt"), ("JWT", "jwt"), ("application/AT+JWT", "at+jwt"), ("", "")] {
        let text = format!(
            "[plugins.notes]\ncomponent = \"x\"\n[oauth.issuers.bank]\nissuer = \"https://id.bank.example\"\nplugin = \"notes\"\n\
             audience = \"notes\"\njwks-file = \"keys.json\"\ntenant-claim = \"tenant\"\ntoken-type = \"{given}\""
        );
        let bank = read(&text).unwrap().oauth.issuers.remove(0);
        assert_eq!(bank.token_type, expected, "{given}");
    }
}

#[test]
fn keys_of_an_external_issuer_require_tls_in_production() {
    let text = |environment: &str, url: &str| {
        format!(
            "environment = \"{environment}\"\n[plugins.notes]\ncomponent = \"x\"\n[oauth.issuers.bank]\nissuer = \"https://id.bank.example\"\nplugin = \"notes\"\n\
             audience = \"notes\"\njwks-url = \"{url}\"\ntenant-claim = \"tenant\""
        )
    };
    assert!(read(&text("production", "https://id.bank.example/jwks")).is_ok());
    assert!(read(&text("production", "http://127.0.0.1:8080/jwks")).is_ok());
    assert!(read(&text("development", "http://id.bank.example/jwks")).is_ok());
    assert!(read(&text("production", "http://id.bank.example/jwks")).unwrap_err().contains("https://"));
}
