//! Production configurations: mistakes and warnings that development does not have.

use super::*;

const PRODUCTION: &str = "environment = \"production\"\npublic-url = \"https://api.example.com\"\n";

/// Returns errors and warnings of a minimal production file with `text` added.
fn read_production(text: &str) -> (Vec<String>, Vec<String>) {
    read_findings(&format!("{PRODUCTION}{text}"))
}

/// Returns errors and warnings of a whole file. The master key is a variable.
fn read_findings(text: &str) -> (Vec<String>, Vec<String>) {
    let path = Path::new("/etc/tenon/plugins.toml");
    let (flags, key) = (Flags::default(), "ab".repeat(32));
    let variables = Variables::from_pairs([("TENON_MASTER_KEY", key.as_str())]);
    let source =
        file::Source { path, flags: &flags, variables: &variables, purpose: Purpose::Serve, open_files_max: None };
    let found = file::read(&source, text);
    let found = found.map_or_else(|mistakes| mistakes, |config| config.warnings);
    let (errors, warnings): (Vec<_>, Vec<_>) = found.iter().partition(|mistake| mistake.is_error());
    let lines = |found: Vec<&Mistake>| found.into_iter().map(Mistake::to_string).collect();
    (lines(errors), lines(warnings))
}

#[test]
fn production_rejects_test_networks_that_cover_its_own_listeners_and_warns_of_others() {
    for covering in ["127.0.0.0/8", "0.0.0.0/0", "127.0.0.1/32"] {
        let (errors, warnings) = read_production(&format!("[outbound]\nallow-test = [\"{covering}\"]"));
        assert_eq!((errors.len(), warnings.len()), (1, 0), "{covering}: {errors:?} {warnings:?}");
        assert!(errors[0].starts_with("line 4: `outbound.allow-test`: "), "{errors:?}");
        assert!(errors[0].contains("covers 127.0.0.1:9090"), "{errors:?}");
    }
    let (errors, _) = read_production("listen = \"10.1.2.3:443\"\n[outbound]\nallow-test = [\"10.0.0.0/8\"]");
    assert!(errors[0].contains("covers 10.1.2.3:443"), "{errors:?}");
    let (errors, warnings) = read_production("[outbound]\nallow-test = [\"10.0.0.0/8\"]");
    assert_eq!(errors, Vec::<String>::new());
    assert!(warnings[0].contains("`outbound.allow-test` is for development"), "{warnings:?}");
    let (errors, warnings) = read_production("[outbound]\nallow-live = [\"127.0.0.0/8\"]");
    assert_eq!((errors.len(), warnings.len()), (0, 1), "{errors:?} {warnings:?}");
}

#[test]
fn listener_on_all_addresses_is_reached_over_loopback() {
    let (errors, _) = read_production(
        "listen = \"0.0.0.0:443\"\nadmin-listen = \"10.0.0.1:9\"\n[outbound]\nallow-test = [\"::1/128\"]",
    );
    assert!(errors[0].contains("covers 0.0.0.0:443"), "{errors:?}");
}

#[test]
fn development_may_allow_its_own_addresses() {
    let config = read("[outbound]\nallow-test = [\"127.0.0.0/8\"]").unwrap();
    assert_eq!(config.warnings, Vec::new());
}

#[test]
fn production_warns_of_an_admin_listener_on_all_addresses() {
    for address in ["0.0.0.0:9090", "[::]:9090"] {
        let (errors, warnings) = read_production(&format!("admin-listen = \"{address}\""));
        assert_eq!(errors, Vec::<String>::new());
        assert!(warnings[0].contains(&format!("`admin-listen` is {address}")), "{warnings:?}");
    }
    assert_eq!(read_production("admin-listen = \"10.0.0.5:9090\""), (Vec::new(), Vec::new()));
}

#[test]
fn production_warns_if_live_keys_from_other_machines_are_rejected() {
    for address in ["0.0.0.0:8080", "[::]:8080", "10.0.0.5:8080"] {
        let (errors, warnings) = read_production(&format!("listen = \"{address}\""));
        assert_eq!(errors, Vec::<String>::new());
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with(&format!("`listen` is {address}")), "{warnings:?}");
        assert!(warnings[0].ends_with("`http.tls-key`, or `http.trusted-proxies`."), "{warnings:?}");
    }
    for quiet in [
        "listen = \"127.0.0.1:8080\"",
        "listen = \"[::1]:8080\"",
        "listen = \"0.0.0.0:8080\"\n[http]\ntrusted-proxies = [\"10.0.0.9\"]",
    ] {
        assert_eq!(read_production(quiet), (Vec::new(), Vec::new()), "{quiet}");
    }
    assert_eq!(
        read("listen = \"0.0.0.0:8080\"").unwrap().warnings,
        Vec::new(),
        "development accepts live keys over plain HTTP"
    );
}

#[test]
fn missing_public_url_is_a_warning_in_production() {
    let key = "ab".repeat(32);
    let variables = Variables::from_pairs([("TENON_MASTER_KEY", key.as_str())]);
    let text = format!("environment = \"production\"\n{PLUGIN}");
    let config = read_with(&text, &Flags::default(), &variables).unwrap();
    assert!(config.warnings[0].text.contains("`public-url` is missing"), "{:?}", config.warnings);
    assert_eq!(config.link_base(config.listen), None);
}

#[test]
fn invalid_public_url_is_not_also_reported_as_missing() {
    let text = format!("environment = \"production\"\npublic-url = \"http://api.example.com\"\n{PLUGIN}");
    let (errors, warnings) = read_findings(&text);
    let found = [errors, warnings].concat();
    assert_eq!(found.iter().filter(|text| text.contains("public-url")).count(), 1, "{found:?}");
    assert!(found[0].starts_with("line 2: `public-url` must be like"), "{found:?}");
}

#[test]
fn certificate_key_that_every_user_can_read_is_rejected_in_production() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.path().join("a.crt"), folder.path().join("a.key"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let section = format!("[http]\ntls-certificate = {certificate:?}\ntls-key = {key:?}\n");
    let modes = |of_folder: u32, of_key: u32| {
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(of_folder)).unwrap();
        std::fs::set_permissions(&key, PermissionsExt::from_mode(of_key)).unwrap();
        read_production(&section).0
    };
    assert_eq!(modes(0o700, 0o644), Vec::<String>::new(), "other users cannot enter the folder");
    assert_eq!(modes(0o755, 0o640), Vec::<String>::new());
    let found = modes(0o755, 0o644);
    assert!(found[0].contains("`http.tls-key`: every user of this machine can read"), "{found:?}");
    assert_eq!(read(&section).unwrap().warnings.len(), 1, "in development it is a warning");
}
