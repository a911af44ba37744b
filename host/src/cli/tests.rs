use clap::{CommandFactory, Parser, error::ErrorKind};

use super::*;
use crate::admin::wire::{
    CheckReport, DisabledStatus, EndpointStatus, JournalLine, KeyEnvironment, KeyStatus, LedgerReport, LedgerSum,
    LiveStatus, PluginState, PluginStatus, StepTime, TimestampText,
};
use crate::config::{Flags, Variables};

#[test]
fn command_line_definition_is_valid() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_has_an_example() {
    fn check(command: &clap::Command, path: &str) {
        let path = format!("{path} {}", command.get_name());
        let help = command.get_after_help().map(|help| help.to_string()).unwrap_or_default();
        assert!(help.contains("Example") && help.contains("tenon "), "{path} has no example");
        command.get_subcommands().for_each(|inner| check(inner, &path));
    }
    check(&Cli::command(), "");
}

#[test]
fn help_of_recover_names_the_deliveries_that_it_does_not_send() {
    let help = Cli::try_parse_from(["tenon", "webhook", "recover", "--help"]).err().unwrap().to_string();
    assert!(help.contains("given up since a time (state `failed`)"), "{help}");
    assert!(help.contains("(`retrying`) keep their time"), "{help}");
}

#[test]
fn documented_commands_are_accepted() {
    for line in [
        "serve --config a.toml --listen 127.0.0.1:1 --admin 127.0.0.1:2 --database sqlite:x --data-dir d",
        "key create --plugin notes --tenant acme --environment test --scope a --scope b --allow-unknown-scopes --owner key_1 --expires-in-days 9 --json",
        "key list --admin 10.0.0.1:9 --data-dir d",
        "key --admin 10.0.0.1:9 revoke key_1",
        "client create --plugin notes --tenant acme --environment live --scope a --scope b --jwks keys.json --json",
        "client list --json",
        "client rotate client_1 --json",
        "client revoke client_1 --admin 10.0.0.1:9",
        "oauth rotate-keys --json",
        "plugin list --json",
        "plugin check a.wasm --plugin notes --data-dir d --json",
        "plugin deploy a.wasm --plugin notes --allow-breaking --allow-slow-index",
        "plugin check a.wasm --against notes --admin 127.0.0.1:9090",
        "plugin compile --data-dir d --json",
        "plugin rollback notes",
        "plugin journal --plugin notes --limit 5",
        "plugin profile notes --seconds 30 --output a.json --force --json",
        "plugin profile notes --admin 10.0.0.1:9",
        "journal --since 2026-01-02T03:04:05Z --operator ada",
        "journal --since 2h --json",
        "webhook endpoints --plugin notes --tenant acme/test --endpoint ep --limit 5 --after 7 --json",
        "webhook deliveries --state failed --admin 10.0.0.1:9",
        "webhook attempts ep event_1 --json",
        "webhook redeliver ep event_1 --plugin notes --tenant acme/test --as ada",
        "webhook recover ep --since 90m",
        "webhook recover ep --since 2026-01-02T03:04:05Z --json",
        "outbox --plugin notes --tenant acme/test --limit 5 --json",
        "ledger check",
        "audit verify --plugin notes --tenant acme/test --against report.json --json",
        "audit verify --database sqlite:x --data-dir d",
        "audit list --plugin notes --tenant acme/test --operation o --subject key_1 --request r --limit 5 --json",
        "audit list --since 2026-01-02 --until 2h --after 7 --admin 10.0.0.1:9",
        "listen",
        "listen --listen 127.0.0.1:0 --secret whsec_a --secret-file f --answer 500 --delay-ms 20 --quiet --json",
        "seed list --json",
        "seed export --plugin notes --tenant acme/live --json",
        "seed import --plugin notes --tenant acme/live --as ada --admin 10.0.0.1:9",
        "chain list --network main --json",
        "chain faucet base 0x1 2.5 --token USDC --network main --json",
        "chain balance base 0x1 --json",
        "chain transaction base 0xab --network test --json",
        "chain mine base",
        "chain mine base 64 --network main --json",
        "chain reorganise base 3 --drop --json",
        "chain fault base fail 2",
        "chain fault base silent taken --network main --json",
        "secrets rotate",
        "secrets new-key",
        "db check --data-dir d --quick --json",
        "db create --database sqlite:x --replace --as ada",
        "db accept --data-dir d --json",
        "config check --config a.toml",
        "config reference",
    ] {
        let arguments = std::iter::once("tenon").chain(line.split(' '));
        assert!(Cli::try_parse_from(arguments).is_ok(), "{line}");
    }
}

/// Parses the lines of code blocks that begin with `tenon`, up to a comment or a redirection. Lines with a placeholder
/// ("…") are skipped.
#[test]
fn commands_in_the_documentation_are_accepted() {
    let documents = [
        include_str!("../../../README.md"),
        include_str!("../../../docs/operators.md"),
        include_str!("../../../docs/operators/backup-and-restore.md"),
        include_str!("../../../docs/operators/blockchains.md"),
        include_str!("../../../docs/operators/capacity.md"),
        include_str!("../../../docs/operators/destinations-and-tasks.md"),
        include_str!("../../../docs/operators/install.md"),
        include_str!("../../../docs/operators/journal-and-audit.md"),
        include_str!("../../../docs/operators/keys-and-secrets.md"),
        include_str!("../../../docs/operators/reference.md"),
        include_str!("../../../docs/operators/swap-plugins.md"),
        include_str!("../../../docs/operators/webhooks.md"),
        include_str!("../../../docs/plugin-authors.md"),
        include_str!("../../../docs/troubleshooting.md"),
        include_str!("../../../docs/systemd/tenon.service"),
    ];
    let mut tried = 0;
    for line in documents.iter().flat_map(|text| text.lines()) {
        let line =
            line.split(" #").next().unwrap_or_default().replace("target/release/tenon", "tenon").replace('\'', "");
        let line = line.split(" > ").next().unwrap_or_default();
        let line = line.split(" < ").next().unwrap_or_default().replace("ExecStart=/usr/local/bin/tenon", "tenon");
        let arguments: Vec<&str> = line.split_whitespace().collect();
        if arguments.first() == Some(&"tenon") && !line.contains('…') {
            assert!(Cli::try_parse_from(&arguments).is_ok(), "{line}");
            tried += 1;
        }
    }
    assert!(tried > 15, "only {tried} commands found");
}

#[test]
fn invalid_command_line_is_a_usage_error_with_exit_code_2() {
    for (line, kind) in [
        ("tenon key create --plugin notes", ErrorKind::MissingRequiredArgument),
        ("tenon key create --plugin a --tenant b --environment prod", ErrorKind::InvalidValue),
        ("tenon key create --plugin a --tenant b --environment test --expires-in-days 0", ErrorKind::ValueValidation),
        ("tenon plugin lst", ErrorKind::InvalidSubcommand),
        ("tenon plugin profile notes --seconds 61", ErrorKind::ValueValidation),
        ("tenon serve --port 1", ErrorKind::UnknownArgument),
        ("tenon plugin check a.wasm --plugin notes --admin 127.0.0.1:1", ErrorKind::ArgumentConflict),
        ("tenon secrets new-key --as ada", ErrorKind::UnknownArgument),
        ("tenon listen --answer 99", ErrorKind::ValueValidation),
        ("tenon webhook recover ep --since yesterday", ErrorKind::ValueValidation),
        ("tenon journal --since yesterday", ErrorKind::ValueValidation),
        ("tenon webhook deliveries --state lost", ErrorKind::InvalidValue),
        ("tenon seed import --plugin a --tenant b/test abandon ability", ErrorKind::UnknownArgument),
        ("tenon chain mine base many", ErrorKind::ValueValidation),
        ("tenon chain fault base explode", ErrorKind::InvalidValue),
        ("tenon chain list --network side", ErrorKind::InvalidValue),
    ] {
        let error = Cli::try_parse_from(line.split(' ')).err().unwrap();
        assert_eq!((error.kind(), error.exit_code()), (kind, 2), "{line}");
    }
}

/// Returns a folder with a token, and the address of a port on which no program listens.
fn stopped_host() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    crate::admin::token::load_or_create(folder.path()).unwrap();
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    (folder, unused.to_string())
}

fn run(line: &str, folder: &std::path::Path, admin: &str) -> Result<Outcome, CliError> {
    let access = ["--admin", admin, "--data-dir", folder.to_str().unwrap()];
    Cli::try_parse_from(std::iter::once("tenon").chain(line.split(' ')).chain(access))
        .unwrap()
        .command
        .run(Default::default())
}

#[test]
fn error_without_a_running_host_names_its_address_and_next_steps() {
    let (folder, admin) = stopped_host();
    let error = run("plugin list", folder.path(), &admin).unwrap_err().to_string();
    let expected = format!(
        "No Tenon answers on {admin}. Start it with `make run` or `tenon serve`, or set its address with --admin."
    );
    assert_eq!(error, expected);
    let empty = tempfile::tempdir().unwrap();
    let error = run("key list", empty.path(), &admin).unwrap_err().to_string();
    assert!(error.contains("admin.token") && error.contains("--data-dir"), "{error}");
    assert!(run("key list", folder.path(), "not an address").unwrap_err().to_string().contains("HOST:PORT"));
}

#[test]
fn fifo_and_oversized_file_arguments_are_rejected_with_path_and_reason() {
    let (folder, admin) = stopped_host();
    let (fifo, long) = (folder.path().join("fifo"), folder.path().join("long"));
    crate::regular_file::make_fifo(&fifo);
    // Sparse: it takes no space.
    std::fs::File::create(&long).unwrap().set_len(1 << 40).unwrap();
    for command in [
        "plugin deploy FILE --plugin notes",
        "client create --plugin notes --tenant acme --environment test --jwks FILE",
    ] {
        for (file, reason) in [(&fifo, "it is a FIFO, not a regular file"), (&long, "it has more than ")] {
            let line = command.replace("FILE", file.to_str().unwrap());
            let error = run(&line, folder.path(), &admin).unwrap_err().to_string();
            assert!(error.contains(&file.display().to_string()) && error.contains(reason), "{command}: {error}");
        }
    }
    let flags = Flags { config: Some(fifo), ..Flags::default() };
    let error = crate::config::load(&flags, &Variables::of_process()).err().unwrap().to_string();
    assert!(error.contains("it is a FIFO, not a regular file"), "{error}");
}

#[test]
fn commands_work_with_the_operators_listener() {
    let folder = tempfile::tempdir().unwrap();
    let admin = crate::admin::serve_fake_host(folder.path());
    let created =
        run("key create --plugin notes --tenant acme --environment test --json", folder.path(), &admin).unwrap();
    assert_eq!(
        created.text,
        "{\"id\":\"key_1\",\"key\":\"tk_test_x\",\"tenant\":\"acme\",\"environment\":\"test\",\"plugin\":\"notes\"}\n"
    );
    let component = folder.path().join("notes.wasm");
    std::fs::write(&component, "bytes").unwrap();
    let deploy = format!("plugin deploy {} --plugin notes --allow-breaking", component.display());
    let text = run(&deploy, folder.path(), &admin).unwrap().text;
    assert!(text.starts_with("notes 0.1.0 (bb) serves as generation 2, previously 0.1.0 (aa)."), "{text}");
    std::fs::write(&component, "").unwrap();
    let error = run(&deploy, folder.path(), &admin).unwrap_err().to_string();
    assert_eq!(error, "Not published.\n  - it is empty");
    let error = run("key revoke key/../9", folder.path(), &admin).unwrap_err().to_string();
    assert_eq!(error, "There is no key key/../9.\n`tenon key list` shows them.");
    assert_eq!(run("ledger check", folder.path(), &admin).unwrap(), Outcome::success("The ledger is empty.\n".into()));
    assert!(run("secrets rotate", folder.path(), &admin).unwrap().text.contains("1 secrets re-encrypted"));
    let journal = run("plugin journal --plugin notes", folder.path(), &admin).unwrap();
    assert_eq!(journal, Outcome::success("No line of the operators' journal matches the filter.\n".into()));
    let journal = run("journal --action deploy", folder.path(), &admin).unwrap();
    assert_eq!(journal, Outcome::success("No line of the operators' journal matches the filter.\n".into()));
    let journal = run("journal --since 2h", folder.path(), &admin).unwrap();
    assert_eq!(journal, Outcome::success("No line of the operators' journal matches the filter.\n".into()));
    let journal = run("journal", folder.path(), &admin).unwrap();
    assert_eq!(journal, Outcome::success("The operators' journal has no lines yet.\n".into()));
}

#[test]
fn redelivery_and_recovery_report_their_deliveries() {
    let folder = tempfile::tempdir().unwrap();
    let admin = crate::admin::serve_fake_host(folder.path());
    let text = run("webhook recover ep --since 2h", folder.path(), &admin).unwrap().text;
    assert_eq!(text, "7 deliveries to ep (notes, acme/test): scheduled for another attempt.\n");
    let text = run("webhook redeliver ep event_1", folder.path(), &admin).unwrap().text;
    assert_eq!(text, "1 delivery to ep (notes, acme/test): sent again once the endpoint is enabled.\n");
    let text = run("webhook endpoints --tenant acme/test --after 7", folder.path(), &admin).unwrap().text;
    assert!(text.starts_with("PLUGIN  TENANT") && text.ends_with("There may be more: --after 7\n"), "{text}");
    let json = run("webhook deliveries --state failed --json", folder.path(), &admin).unwrap().text;
    assert_eq!(json, "{\"entries\":[],\"next\":null}\n");
    assert_eq!(run("webhook attempts e&p event_1 --json", folder.path(), &admin).unwrap().text, "[]\n");
}

#[test]
fn stored_message_is_printed_and_cannot_control_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let admin = crate::admin::serve_fake_host(folder.path());
    let text = run("outbox --plugin notes --tenant acme/test --limit 5", folder.path(), &admin).unwrap().text;
    assert!(text.contains("sms") && text.contains("POST /send") && text.contains("hello"), "{text}");
    assert!(text.contains("\\u{1b}[2J") && !text.contains('\u{1b}'), "{text}");
    let json = run("outbox --json", folder.path(), &admin).unwrap().text;
    assert!(json.contains("\"idempotency_key\":null"), "{json}");
}

#[test]
fn empty_outbox_is_distinguished_from_a_filter_that_matches_nothing() {
    assert_eq!(outbox::render(&[], false), "There are no stored messages.\n");
    assert_eq!(outbox::render(&[], true), "No stored message matches the filter.\n");
}

#[test]
fn seed_export_prints_only_the_words() {
    let folder = tempfile::tempdir().unwrap();
    let admin = crate::admin::serve_fake_host(folder.path());
    let text = run("seed list", folder.path(), &admin).unwrap().text;
    assert_eq!(text, "PLUGIN  TENANT\nnotes   acme/test\n");
    let text = run("seed export --plugin notes --tenant acme/test", folder.path(), &admin).unwrap().text;
    assert_eq!(text, "abandon ability able\n");
    let json = run("seed export --plugin notes --tenant acme/test --json", folder.path(), &admin).unwrap().text;
    assert_eq!(json, "{\"plugin\":\"notes\",\"tenant\":\"acme/test\",\"phrase\":\"abandon ability able\"}\n");
}

#[test]
fn network_list_shows_active_faults() {
    let folder = tempfile::tempdir().unwrap();
    let admin = crate::admin::serve_fake_host(folder.path());
    let text = run("chain list", folder.path(), &admin).unwrap().text;
    let line = "base        main     simulated-main      7       -       250  ETH         3         1  USDC\n";
    let faults = "    the next 2 transactions are stuck; silent, submitted transactions are accepted\n";
    assert!(text.ends_with(&format!("{line}{faults}")), "{text}");
    let text = run("chain list --network test", folder.path(), &admin).unwrap().text;
    assert!(text.contains("simulated = true in [chains]"), "{text}");
}

#[test]
fn chain_commands_report_results_and_reject_invalid_values() {
    let folder = tempfile::tempdir().unwrap();
    let admin = crate::admin::serve_fake_host(folder.path());
    let run = |line: &str| run(line, folder.path(), &admin);
    for (line, expected) in [
        (
            "chain faucet base 0x1 2.5 --token usdc",
            "base (test): 2.5 usdc to 0x1 in the next block, transaction 0xab.\n",
        ),
        (
            "chain reorganise base 3 --network main",
            "base (main): the last blocks were replaced; 4 transactions wait for the next block.\n",
        ),
        ("chain fault base release", "base (test): 4 transactions were released; no faults are active.\n"),
        ("chain balance base 0x1", "ASSET  AMOUNT\nETH       2.5\n"),
    ] {
        assert_eq!(run(line).unwrap().text, expected, "{line}");
    }
    for (line, expected) in [
        ("chain fault base fail some", "whole number"),
        ("chain fault base slow", "milliseconds"),
        ("chain fault base release 3", "take no value"),
        ("chain fault base silent maybe", "on, taken or off"),
        ("chain transaction base 0xab", "There is no 0xab."),
    ] {
        let error = run(line).unwrap_err().to_string();
        assert!(error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn endpoint_table_shows_the_reason_of_disabling_and_an_open_breaker() {
    let mut endpoint = EndpointStatus {
        plugin: "notes".into(),
        tenant: "acme/test".into(),
        id: "ep".into(),
        url: "https://example.com/hook".into(),
        event_types: vec![],
        subjects: vec![],
        enabled: false,
        disabled: Some(DisabledStatus {
            at: Some(TimestampText(0)),
            reason: "the endpoint responded with 410 Gone".into(),
        }),
        failing_since: None,
        pending: 3,
        retrying: 0,
        failed: 2,
        oldest_waiting_at: Some(TimestampText(0)),
        live: Some(LiveStatus { in_flight: 1, breaker_open: true }),
    };
    let table = webhook::render::endpoints(std::slice::from_ref(&endpoint));
    assert!(
        table.ends_with("    disabled 1970-01-01T00:00:00.000Z: the endpoint responded with 410 Gone\n"),
        "{table}"
    );
    endpoint.enabled = true;
    endpoint.disabled = None;
    assert!(webhook::render::endpoints(&[endpoint]).contains("ep        breaker open        3"), "{table}");
}

#[test]
fn plugin_table_shows_why_a_plugin_does_not_serve() {
    let plugin = PluginStatus {
        name: "notes".into(),
        mount: "/".into(),
        state: PluginState::Down,
        reasons: vec!["imports records, which is not granted".into()],
        serving: None,
        parked: None,
        kept: None,
    };
    let table = plugin::render::status_table(&[plugin]);
    assert!(table.contains("notes  down   -"), "{table}");
    assert!(table.ends_with("    imports records, which is not granted\n"), "{table}");
}

#[test]
fn plugin_table_shows_the_kept_component_for_a_rollback() {
    let plugin = PluginStatus {
        name: "notes".into(),
        mount: "/".into(),
        state: PluginState::Serving,
        reasons: vec![],
        serving: None,
        parked: None,
        kept: Some("0123456789abcdef".into()),
    };
    let table = plugin::render::status_table(&[plugin]);
    assert!(table.ends_with("  kept (0123456789ab)\n"), "{table}");
}

#[test]
fn check_report_without_a_version_states_the_reason() {
    let report = CheckReport {
        plugin: "notes".into(),
        passed: false,
        hash: "0123456789abcdef".into(),
        version: None,
        reasons: vec!["is not\nWebAssembly".into()],
        notes: vec![],
        steps: vec![],
    };
    assert_eq!(
        plugin::render::check_report(&report),
        "notes (0123456789ab) would be refused.\n  - is not\\nWebAssembly\n  \
         note: its version is unknown, because it was refused before its manifest was read\n"
    );
}

#[test]
fn journal_table_shows_short_hashes_and_durations() {
    let line = JournalLine {
        at: TimestampText(1_767_322_986_070),
        operator: "ada".into(),
        plugin: "notes".into(),
        action: "publish".into(),
        from: None,
        to: Some("0123456789abcdef".into()),
        outcome: "published".into(),
        reasons: vec![],
        steps: vec![StepTime { step: "compile".into(), microseconds: 70_500 }],
    };
    let table = plugin::render::journal(&[line], false);
    assert!(
        table.contains("2026-01-02T03:03:06.070Z  ada  notes   publish  published  -     0123456789ab  70.500\n"),
        "{table}"
    );
}

#[test]
fn key_table_shows_that_a_key_without_scopes_is_unrestricted() {
    let key = KeyStatus {
        id: "key_1".into(),
        plugin: "*".into(),
        tenant: "acme".into(),
        environment: KeyEnvironment::Live,
        scopes: vec![],
        kind: "api-key".into(),
        label: None,
        attributes: Vec::new(),
        signs: false,
        owner: "key_1".into(),
        created_at: TimestampText(0),
        expires_at: None,
        last_used_at: None,
        revoked_at: None,
    };
    let issued =
        KeyStatus { kind: "token".into(), plugin: "notes".into(), label: Some("a link".into()), ..key.clone() };
    let table = key::render::keys(&[key, issued]);
    let line = "key_1  api-key  *       acme    live  operator       all     -      1970-01-01T00:00:00.000Z  -          -        -\n";
    assert!(table.contains(line), "{table}");
    assert!(table.contains("key_1  token    notes   acme    live  notes: a link  -       -"), "{table}");
}

#[test]
fn unbalanced_ledger_is_reported() {
    let sum = LedgerSum { plugin: "notes".into(), tenant: "acme/test".into(), asset: "X".into(), sum: "-7".into() };
    let text = ledger::render(&LedgerReport { balanced: false, sums: vec![sum] });
    assert!(text.contains("acme/test  X       -7\n") && text.contains("does NOT balance"), "{text}");
}
