use super::*;

mod production;

const PLUGIN: &str = "[plugins.notes]\ncomponent = \"notes.wasm\"\n";

fn read(text: &str) -> Result<Config, Vec<String>> {
    read_with(text, &Flags::default(), &Variables::default())
}

fn read_with(text: &str, flags: &Flags, variables: &Variables) -> Result<Config, Vec<String>> {
    read_for(Purpose::Serve, text, flags, variables)
}

fn read_for(purpose: Purpose, text: &str, flags: &Flags, variables: &Variables) -> Result<Config, Vec<String>> {
    let path = Path::new("/etc/tenon/plugins.toml");
    file::read(&file::Source { path, flags, variables, purpose, open_files_max: None }, text)
        .map_err(|mistakes| mistakes.iter().filter(|mistake| mistake.is_error()).map(Mistake::to_string).collect())
}

#[test]
fn empty_file_gives_defaults_and_no_plugin() {
    let config = read("").unwrap();
    assert_eq!(config.environment, Environment::Development);
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.admin_listen.to_string(), "127.0.0.1:9090");
    assert_eq!(config.database_url, "sqlite:data/tenon.db");
    assert_eq!(config.http.header_timeout_ms, 10_000);
    assert!(config.plugins.is_empty());
}

#[test]
fn plugin_section_is_read_with_defaults_for_the_rest() {
    let config = read(
        r#"
        [plugins.notes]
        component = "build/notes.wasm"
        mount = "/notes"
        grants = ["records", "log"]
        [plugins.notes.limits]
        memory-bytes = 0x200_0000
        rate-per-second = 50
        components-kept = 3
        [plugins.notes.settings]
        greeting = "hello"
        days = [1, 2.5, true, 2026-01-02]
        nested = { a = { b = 1 } }
        "#,
    )
    .unwrap();
    let notes = &config.plugins["notes"];
    assert_eq!(notes.component, Path::new("/etc/tenon/build/notes.wasm"));
    assert_eq!((notes.mount.as_str(), notes.grants.len()), ("/notes", 2));
    assert_eq!(notes.limits.memory_bytes, 32 << 20);
    assert_eq!((notes.limits.rate_per_second, notes.limits.rate_burst), (50, 50));
    assert_eq!(notes.limits.components_kept, 3);
    assert_eq!(notes.limits.deadline_ms, PluginLimits::default().deadline_ms);
    assert_eq!(notes.settings["days"], serde_json::json!([1, 2.5, true, "2026-01-02"]));
    assert_eq!(notes.settings["nested"], serde_json::json!({"a": {"b": 1}}));
}

/// Content of the file, and a part of the expected message.
const MISTAKES: &[(&str, &str)] = &[
    ("listn = \"127.0.0.1:1\"", "line 1: `listn` is not a known key. Did you mean `listen`?"),
    (
        "listen = 8080",
        "line 1: `listen` must be a string in quotes (listen address of the interfaces), and is a whole number.",
    ),
    ("listen = 127.0.0.1", "line 1: this is not TOML: an address must be a quoted string: listen = \"127.0.0.1\"."),
    ("public-url = \"api.example.com\"", "line 1: `public-url` must be like \"https://api.example.com\""),
    ("listen = \"8080\"", "line 1: `listen` must be an IP address and a port"),
    ("listen = \"127.0.0.1:9090\"", "`listen` and `admin-listen` are both 127.0.0.1:9090"),
    ("environment = \"prod\"", "line 1: `environment` must not be \"prod\""),
    ("environment = \"production\"", "line 1: production requires a master key set by the operator"),
    ("database = \"postgres://db/x\"", "PostgreSQL, which is not built into this version; use sqlite:PATH."),
    ("database = \"sqlite::memory:\"", "would lose everything"),
    ("database = \"tenon.db\"", "must be sqlite:PATH"),
    ("\n[http]\nbody-bytes-max = -1", "line 3: `http.body-bytes-max` must be a whole number from 0 to"),
    ("[http]\nheader-timeout-ms = \"10s\"", "line 2: `http.header-timeout-ms` must be a whole number from 100"),
    ("[http]\ncors-origins = [\"https://a.example/\"]", "line 2: `http.cors-origins` must contain origins"),
    ("[http]\ntrusted-proxies = [\"proxy\"]", "line 2: `http.trusted-proxies` must contain IP addresses"),
    ("[http]\ncors-origins = \"*\"", "must be a list of strings"),
    ("[retention.event]\nage-ms-max = 60_000", "line 1: `retention.event` is not a known key. Did you mean `events`?"),
    (
        "[retention.events]\nage-ms-max = 1",
        "line 2: `retention.events.age-ms-max` must be a whole number from 60000 to 315360000000 (rows older than this are \
         deleted); 2592000000 is the default.",
    ),
    ("[retention.swaps]\nage-ms-max = 1", "; 31536000000 is the default."),
    ("[retention.swaps]\nbytes-max = 1", "; without it there is no limit."),
    ("[plugins.Notes]\ncomponent = \"x\"", "`Notes` is not a valid plugin name"),
    ("[plugins.notes]\nmount = \"/\"", "line 1: `plugins.notes.component` is missing"),
    ("[plugins.notes]\ncomponent = \"x\"\nmount = \"notes/\"", "line 3: `plugins.notes.mount` must be"),
    (
        "[plugins.notes]\ncomponent = \"x\"\ngrants = [\"record\"]",
        "line 3: `plugins.notes.grants`: the contract has no interface \"record\". Did you mean `records`?",
    ),
    ("[plugins.notes]\ncomponent = \"x\"\ngrants = [\"log\", \"log\"]", "names \"log\" twice"),
    (
        "[plugins.notes]\ncomponent = \"x\"\n[plugins.notes.limits]\nmemory = 1",
        "line 4: `plugins.notes.limits.memory` is not a known key",
    ),
    ("[plugins.notes]\ncomponent = \"x\"\n[plugins.notes.limits]\ncompute-ms = 20_000", "must not be longer than"),
    (
        "[plugins.notes]\ncomponent = \"x\"\n[plugins.notes.limits]\ncomponents-kept = 1",
        "line 4: `plugins.notes.limits.components-kept` must be a whole number from 2 to 50",
    ),
    ("[plugins.notes]\ncomponent = \"x\"\n[plugins.notes.limits]\nrate-burst = 5", "set both or neither"),
    (
        "[plugins.notes]\ncomponent = \"x\"\n[plugins.notes.settings]\nx = nan",
        "line 4: `plugins.notes.settings.x` must be a number that JSON can represent.",
    ),
    ("plugins = 3", "line 1: `plugins` must be a table, [plugins], and is a whole number."),
];

#[test]
fn every_mistake_is_reported_with_its_line_and_remedy() {
    for (text, expected) in MISTAKES {
        let found = read(text).unwrap_err();
        assert_eq!(found.len(), 1, "{text}\n{found:#?}");
        assert!(found[0].contains(expected), "{text}\n{found:#?}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once_from_top_to_bottom() {
    let flags = Flags { listen: Some("nowhere".into()), ..Flags::default() };
    let text = "listn = 1\n[http]\nbody-bytes-max = 3\n[plugins.notes]\ncomponent = 5\nmount = \"x\"\n";
    let found = read_with(text, &flags, &Variables::from_pairs([("TENON_MASTER_KEY", "short")])).unwrap_err();
    let all = found.join("\n");
    for part in ["line 1: `listn`", "line 5: `plugins.notes.component`", "line 6:", "--listen must", "TENON_MASTER_KEY"]
    {
        assert!(all.contains(part), "{part} is not in\n{all}");
    }
    let lines: Vec<&str> = found.iter().filter_map(|line| line.strip_prefix("line ")).collect();
    assert!(lines.is_sorted());
}

#[test]
fn consequences_of_a_syntax_error_are_not_reported() {
    for text in [
        "[plugins.notes\ncomponent = \"x\"\nmount = \"/\"\n",
        "[plugins.notes]\ncomponent = \"x\nmount = \"/\"\n",
        "[plugins.notes]\ncomponent = x\nlistn = 1\n",
        "[plugins.notes]\ngrants = [\"log\",\n\n[http]\nlistn = 1\n",
        "[plugins.notes]\ncomponent = \"x\"\n[plugins.notes]\ncomponent = \"x\"\n",
    ] {
        let found = read(text).unwrap_err();
        assert!(found.iter().all(|line| line.contains("this is not TOML: ")), "{found:#?}");
        assert_eq!(found.len(), 1, "{found:#?}");
    }
}

#[test]
fn flag_overrides_variable_and_variable_overrides_file() {
    let text =
        "listen = \"127.0.0.1:1\"\nadmin-listen = \"127.0.0.1:2\"\ndata-dir = \"kept\"\ndatabase = \"sqlite:own.db\"\n";
    let variables = Variables::from_pairs([
        ("TENON_LISTEN", "127.0.0.1:3"),
        ("TENON_ADMIN_LISTEN", "127.0.0.1:4"),
        ("TENON_DATA_DIR", ""),
    ]);
    let flags = Flags { listen: Some("127.0.0.1:5".into()), ..Flags::default() };
    let config = read_with(text, &flags, &variables).unwrap();
    assert_eq!((config.listen.port(), config.admin_listen.port()), (5, 4));
    assert_eq!(config.data_dir, Path::new("/etc/tenon/kept"));
    assert_eq!(config.database_url, "sqlite:/etc/tenon/own.db");
}

#[test]
fn paths_of_flags_and_variables_are_relative_to_the_current_folder() {
    let variables = Variables::from_pairs([("TENON_DATABASE", "sqlite://here.db"), ("TENON_DATA_DIR", "there")]);
    let config = read_with("", &Flags::default(), &variables).unwrap();
    assert_eq!(config.database_url, "sqlite:here.db");
    assert_eq!(config.data_dir, Path::new("there"));
}

#[test]
fn data_dir_flag_that_is_not_utf8_is_reported() {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt};
    let folder = OsString::from_vec(b"data\xff".to_vec());
    let flags = Flags { data_dir: Some(folder.into()), ..Flags::default() };
    let found = read_with("data-dir = \"kept\"", &flags, &Variables::default()).unwrap_err();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("--data-dir must be valid UTF-8, and is \"data"), "{found:?}");
}

#[test]
fn ipv4_mapped_address_of_a_trusted_proxy_is_read_as_ipv4() {
    let config = read("[http]\ntrusted-proxies = [\"::ffff:10.0.0.1\", \"2001:db8::9\"]\n").unwrap();
    let addresses: Vec<String> = config.http.trusted_proxies.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["10.0.0.1", "2001:db8::9"]);
}

#[test]
fn missing_file_is_reported_with_the_ways_to_name_one() {
    let flags = Flags { config: Some("/nowhere/plugins.toml".into()), ..Flags::default() };
    let error = load(&flags, &Variables::default()).unwrap_err();
    assert!(error.to_string().contains("--config or TENON_CONFIG"), "{error}");
}

#[test]
fn retention_section_overrides_the_default_of_its_kind() {
    let config = read(&format!("{PLUGIN}[retention.journal]\nbytes-max = 2_000_000\n")).unwrap();
    let rule = |kind: &str| config.retention.iter().find(|rule| rule.kind == kind).cloned();
    assert_eq!(rule("journal").unwrap().bytes_max, Some(2_000_000));
    assert_eq!(rule("answers").unwrap().age_ms_max, Some(86_400_000));
}

#[test]
fn debug_output_has_no_master_key() {
    let key = "ab".repeat(32);
    let config = read_with(
        "environment = \"production\"",
        &Flags::default(),
        &Variables::from_pairs([("TENON_MASTER_KEY", key.as_str())]),
    );
    let debug = format!("{:?}", config.unwrap());
    assert!(!debug.contains(&key) && debug.contains("[secret]"));
}

#[test]
fn inspect_does_not_require_the_master_key_of_production() {
    let text = "environment = \"production\"";
    assert!(read(text).is_err());
    assert!(read_for(Purpose::Inspect, text, &Flags::default(), &Variables::default()).is_ok());
}

/// Returns the mistakes of a production file without TENON_MASTER_KEY.
fn check_key_file(purpose: Purpose, data_dir: &Path) -> Vec<String> {
    let text = format!("environment = \"production\"\ndata-dir = {data_dir:?}\n");
    read_for(purpose, &text, &Flags::default(), &Variables::default()).err().unwrap_or_default()
}

#[test]
fn master_key_file_is_checked_as_a_start_reads_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(crate::secrets::MASTER_KEY_FILE);
    let found = check_key_file(Purpose::Check, folder.path());
    assert!(found[0].contains(&format!("there is no file {}", file.display())), "{found:?}");
    std::fs::write(&file, "ab".repeat(32)).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    for purpose in [Purpose::Serve, Purpose::Check] {
        let found = check_key_file(purpose, folder.path());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(&format!("{} can be read by others", file.display())), "{found:?}");
    }
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(check_key_file(Purpose::Check, folder.path()), Vec::<String>::new());
    std::fs::write(&file, "text").unwrap();
    let found = check_key_file(Purpose::Check, folder.path());
    assert!(found[0].starts_with(&format!("{} must hold keys of 32 bytes", file.display())), "{found:?}");
}

#[test]
fn master_key_file_that_cannot_be_read_is_not_reported_as_missing() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("plain");
    std::fs::write(&data_dir, "a file, not a folder").unwrap();
    let found = check_key_file(Purpose::Serve, &data_dir);
    assert_eq!(found.len(), 1, "{found:?}");
    let expected = format!("{}: Not a directory", data_dir.join(crate::secrets::MASTER_KEY_FILE).display());
    assert!(found[0].starts_with(&expected), "{found:?}");
}

#[test]
fn limit_of_open_files_caps_connections_with_a_warning() {
    let (path, flags, variables) = (Path::new("plugins.toml"), Flags::default(), Variables::default());
    let (purpose, open_files_max) = (Purpose::Serve, Some(100));
    let source = file::Source { path, flags: &flags, variables: &variables, purpose, open_files_max };
    for text in ["", "[http]\nconnections-max = 150\n"] {
        let config = file::read(&source, text).unwrap();
        assert_eq!(config.http.connections_max, 27);
        assert_eq!(config.http.connections_per_peer_max, 7);
        assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
        assert!(config.warnings[0].text.contains("may open 100 files"), "{:?}", config.warnings);
    }
    let config = file::read(&source, "[http]\nconnections-max = 27\n").unwrap();
    assert_eq!(config.http.connections_max, 27);
    assert_eq!(config.warnings, Vec::new());
}

#[test]
fn settings_that_need_a_restart_are_listed_without_plugins() {
    let before = read("").unwrap();
    let after = read(&format!("listen = \"127.0.0.1:1\"\n[http]\nshutdown-ms = 1\n{PLUGIN}")).unwrap();
    assert_eq!(before.needs_restart(&after), ["listen", "[http]"]);
    assert!(before.needs_restart(&read(PLUGIN).unwrap()).is_empty());
}

/// Reads plugins.toml in a folder with a certificate, its key, another key, and a file that is not PEM.
fn read_beside_certificates(purpose: Purpose, text: &str) -> Result<Config, Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let other = rcgen::KeyPair::generate().unwrap();
    for (name, pem) in [
        ("good.crt", made.cert.pem()),
        ("good.key", made.signing_key.serialize_pem()),
        ("other.key", other.serialize_pem()),
        ("text", "text".to_owned()),
    ] {
        std::fs::write(folder.path().join(name), pem).unwrap();
    }
    let (flags, variables) = (Flags::default(), Variables::default());
    let source = file::Source {
        path: &folder.path().join("plugins.toml"),
        flags: &flags,
        variables: &variables,
        purpose,
        open_files_max: None,
    };
    let is_error = |mistake: &&Mistake| mistake.is_error();
    file::read(&source, text).map_err(|mistakes| mistakes.iter().filter(is_error).map(Mistake::to_string).collect())
}

#[test]
fn certificate_paths_are_relative_to_the_file() {
    let text = "[http]\ntls-certificate = \"good.crt\"\ntls-key = \"good.key\"\n[outbound]\nroots = [\"good.crt\"]\n";
    let config = read_beside_certificates(Purpose::Serve, text).unwrap();
    assert_eq!(config.link_base(config.listen).as_deref(), Some("https://127.0.0.1:8080"));
    assert!(config.http.tls.unwrap().key.ends_with("good.key") && config.outbound.roots.len() == 1);
    let off = read_beside_certificates(Purpose::Serve, "[http]\ntls-certificate = \"\"\ntls-key = \"\"\n").unwrap();
    assert_eq!(off.http.tls, None);
}

/// Content of `[http]` and `[outbound]`, and a part of each expected message.
const BAD_CERTIFICATES: [(&str, &[&str]); 5] = [
    (
        "[http]\ntls-certificate = \"good.crt\"",
        &["line 2: `http.tls-certificate` requires `http.tls-key`: set both or neither."],
    ),
    ("[http]\ntls-key = \"good.crt\"", &["`http.tls-key` requires `http.tls-certificate`", "line 2: `http.tls-key`: "]),
    (
        "[http]\ntls-certificate = \"none.crt\"\ntls-key = \"text\"",
        &["line 2: `http.tls-certificate`: ", "line 3: `http.tls-key`: "],
    ),
    (
        "[http]\ntls-certificate = \"good.crt\"\ntls-key = \"other.key\"",
        &["line 3: `http.tls-key`: the private key does not belong to the first certificate of the chain."],
    ),
    (
        "[outbound]\nroots = [\"good.crt\", \"none.pem\", \"text\"]",
        &["none.pem cannot be read (No such file", "text: there is no certificate in it."],
    ),
];

#[test]
fn each_invalid_certificate_file_is_reported() {
    for (text, expected) in BAD_CERTIFICATES {
        let found = read_beside_certificates(Purpose::Serve, text).unwrap_err();
        assert_eq!(found.len(), expected.len(), "{text}\n{found:#?}");
        let is_named = |part: &&&str| found.iter().any(|line| line.contains(**part));
        assert_eq!(expected.iter().filter(is_named).count(), expected.len(), "{text}\n{found:#?}");
    }
    let (text, _) = BAD_CERTIFICATES[3];
    assert!(read_beside_certificates(Purpose::Inspect, text).is_ok(), "the files may be on another machine");
}

proptest::proptest! {
    /// Any file gives a configuration, or mistakes with line numbers within the file.
    #[test]
    fn any_text_gives_a_configuration_or_located_mistakes(text in r#"(\[?(plugins|http|retention|environment|listen|x)(\.notes|\.limits|\.calls)?\]?|[ =\n"'\[\]{},.#0-9a-f-]|\PC){0,40}"#) {
        let (flags, variables) = (Flags::default(), Variables::default());
        let source = file::Source { path: Path::new("plugins.toml"), flags: &flags, variables: &variables, purpose: Purpose::Inspect, open_files_max: None };
        if let Err(mistakes) = file::read(&source, &text) {
            let lines = text.split('\n').count();
            assert!(!mistakes.is_empty());
            assert!(mistakes.iter().all(|mistake| mistake.line.is_none_or(|line| (1..=lines).contains(&line))));
        }
    }
}

#[test]
fn invalid_member_of_a_list_of_delays_is_named() {
    let too_many = format!("delays-ms = [{}]", "1, ".repeat(33));
    for (section, list, expected) in [
        ("webhooks", "schedule-ms = [5, -5]", "and member 2 is -5."),
        ("webhooks", "schedule-ms = [5, \"a\", -5]", "and member 2 is a string."),
        ("webhooks", "schedule-ms = 5", "and is a whole number."),
        ("webhooks", "schedule-ms = [5, 0]", "must contain at most 32 numbers from 1 to 604800000, and member 2 is 0."),
        ("tasks", "delays-ms = [0, 604_800_001]", "numbers from 0 to 604800000, and member 2 is 604800001."),
        ("tasks", too_many.as_str(), "numbers from 0 to 604800000, and holds 33."),
    ] {
        let found = read(&format!("{PLUGIN}[plugins.notes.{section}]\n{list}")).unwrap_err();
        assert_eq!(found.len(), 1, "{list}: {found:?}");
        assert!(found[0].starts_with("line 4: ") && found[0].ends_with(expected), "{list}: {found:?}");
    }
}

#[test]
fn unknown_success_is_rejected_with_the_allowed_values() {
    let found = read(&format!("{PLUGIN}[plugins.notes.webhooks]\nsuccess = \"3xx\"")).unwrap_err();
    let expected = "line 4: `plugins.notes.webhooks.success` must be \"2xx\", or \"200\" for that status only, \
                    and is \"3xx\".";
    assert_eq!(found, [expected]);
}

#[test]
fn reference_of_delays_names_their_bounds() {
    let (webhooks, tasks) =
        (keys::SCHEDULE.description.replace('_', ""), keys::TASK_DELAYS.description.replace('_', ""));
    let bounds = format!("at most {} numbers from 1 to {}:", limits::WEBHOOK_DELAYS_MAX, limits::WEBHOOK_DELAY_MS_MAX);
    assert!(webhooks.contains(&bounds), "{webhooks}");
    let bounds = format!("at most {} numbers from 0 to {}:", limits::TASK_DELAYS_MAX, limits::TASK_DELAY_MS_MAX);
    assert!(tasks.contains(&bounds), "{tasks}");
}

#[test]
fn links_begin_with_the_public_url_then_the_issuer_then_the_address_of_development() {
    let listens = "0.0.0.0:8080".parse().unwrap();
    let base = |text: &str| read(text).unwrap().link_base(listens);
    assert_eq!(base("").as_deref(), Some("http://127.0.0.1:8080"));
    assert_eq!(base("[oauth]\nissuer = \"https://id.example\"").as_deref(), Some("https://id.example"));
    let both = "public-url = \"https://api.example\"\n[oauth]\nissuer = \"https://id.example\"";
    assert_eq!(base(both).as_deref(), Some("https://api.example"));
}

#[test]
fn check_requires_each_component_and_serving_does_not() {
    assert!(read(PLUGIN).is_ok());
    let found = read_for(Purpose::Check, PLUGIN, &Flags::default(), &Variables::default()).unwrap_err();
    assert_eq!(found, ["line 2: `plugins.notes.component`: there is no file /etc/tenon/notes.wasm."]);
}

#[test]
fn destination_that_names_no_plugin_is_an_error_of_check_and_a_warning_of_serving() {
    let text = format!("{PLUGIN}[plugins.notes.destinations.b]\nkind = \"plugin\"\nplugin = \"note\"");
    let expected = "line 5: `plugins.notes.destinations.b.plugin`: there is no plugin \"note\". Did you mean `notes`?";
    let found = read_for(Purpose::Check, &text, &Flags::default(), &Variables::default()).unwrap_err();
    assert!(found.contains(&expected.to_owned()), "{found:?}");
    assert_eq!(read(&text).unwrap().warnings[0].to_string(), expected);
}
