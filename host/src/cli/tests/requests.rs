//! Tests of commands that send requests: their requests, output and errors.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    canned_host::{CannedHost, ok},
    run,
};
use crate::{
    admin::{
        AdminError, token,
        wire::{
            AssetStatus, AttemptStatus, Balance, BalanceReport, ControlReport, CreatedKey, DeliveryStatus,
            EndpointStatus, FaultStatus, JournalLine, KeyEnvironment, LedgerReport, NetworkSide, NetworkStatus,
            OutboxMessage, Page, ResendReport, RotationReport, SeedCopy, SeedOwner, Silence, StepTime, SwapReport,
            TimestampText, VersionStatus,
        },
    },
    cli::Outcome,
    config::{self, Flags, Variables},
    regular_file::make_fifo,
    secrets::SecretText,
};

/// Returns a folder with a token, and the address of a port on which no program listens.
fn stopped_host() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    token::load_or_create(folder.path()).unwrap();
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    (folder, unused.to_string())
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
    make_fifo(&fifo);
    // Sparse: it takes no space.
    fs::File::create(&long).unwrap().set_len(1 << 40).unwrap();
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
    let error = config::load(&flags, &Variables::of_process()).err().unwrap().to_string();
    assert!(error.contains("it is a FIFO, not a regular file"), "{error}");
}

#[test]
fn created_key_is_printed_as_json() {
    let created = CreatedKey {
        id: "key_1".into(),
        key: SecretText::new("tk_test_x".into()),
        tenant: "acme".into(),
        environment: KeyEnvironment::Test,
        plugin: "notes".into(),
    };
    let host = CannedHost::start([("POST /v1/keys", ok(created))]);
    let text = host.run_ok("key create --plugin notes --tenant acme --environment test --json");
    assert_eq!(
        text,
        "{\"id\":\"key_1\",\"key\":\"tk_test_x\",\"tenant\":\"acme\",\"environment\":\"test\",\"plugin\":\"notes\"}\n"
    );
}

#[test]
fn deploy_reports_the_new_version_or_the_reasons_of_a_refusal() {
    let version = |hash: &str| VersionStatus { version: "0.1.0".into(), hash: hash.into() };
    let report = SwapReport {
        plugin: "notes".into(),
        from: Some(version("aa")),
        to: version("bb"),
        generation: 2,
        notes: vec![],
        steps: vec![StepTime { step: "compile".into(), microseconds: 70_000 }],
    };
    let refusal = AdminError::conflict("Not published.", vec!["it is empty".to_owned()], "");
    let host = CannedHost::start([
        ("PUT /v1/plugins/notes/component", ok(report)),
        ("PUT /v1/plugins/other/component", Err(refusal)),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let component = folder.path().join("notes.wasm");
    fs::write(&component, "bytes").unwrap();
    let deploy = |plugin: &str| format!("plugin deploy {} --plugin {plugin} --allow-breaking", component.display());
    let text = host.run_ok(&deploy("notes"));
    assert!(text.starts_with("notes 0.1.0 (bb) serves as generation 2, previously 0.1.0 (aa)."), "{text}");
    assert_eq!(host.run_err(&deploy("other")), "Not published.\n  - it is empty");
    assert_eq!(host.requests()[0], "PUT /v1/plugins/notes/component?allow-breaking=true&allow-slow-index=false bytes");
}

#[test]
fn id_in_a_path_is_percent_encoded() {
    let unknown = AdminError::not_found("There is no key key/../9.", "`tenon key list` shows them.");
    let host = CannedHost::start([("DELETE /v1/keys/key%2F%2E%2E%2F9", Err(unknown))]);
    let error = host.run_err("key revoke key/../9");
    assert_eq!(error, "There is no key key/../9.\n`tenon key list` shows them.");
}

#[test]
fn empty_ledger_and_rotated_secrets_are_reported() {
    let rotation = RotationReport { key: "00".into(), sealed_again: 1, current: 0, left: vec![] };
    let host = CannedHost::start([
        ("GET /v1/ledger/check", ok(LedgerReport { balanced: true, sums: vec![] })),
        ("POST /v1/secrets/rotate", ok(rotation)),
    ]);
    assert_eq!(host.run("ledger check").unwrap(), Outcome::success("The ledger is empty.\n".into()));
    assert!(host.run_ok("secrets rotate").contains("1 secrets re-encrypted"));
}

#[test]
fn empty_journal_is_distinguished_from_a_filter_that_matches_nothing() {
    let no_lines = || ok(Vec::<JournalLine>::new());
    let host = CannedHost::start([("GET /v1/plugins/journal", no_lines()), ("GET /v1/journal", no_lines())]);
    for line in ["plugin journal --plugin notes", "journal --action deploy", "journal --since 2h"] {
        assert_eq!(host.run_ok(line), "No line of the operators' journal matches the filter.\n", "{line}");
    }
    assert_eq!(host.run_ok("journal"), "The operators' journal has no lines yet.\n");
    let requests = host.requests();
    assert_eq!(requests[0], "GET /v1/plugins/journal?limit=20&plugin=notes");
    assert_eq!(requests[1], "GET /v1/journal?limit=20&action=deploy");
}

#[test]
fn redelivery_and_recovery_report_their_deliveries() {
    let report = |deliveries, enabled| {
        let (plugin, tenant, endpoint) = ("notes".into(), "acme/test".into(), "ep".into());
        ok(ResendReport { plugin, tenant, endpoint, deliveries, enabled })
    };
    let host = CannedHost::start([
        ("POST /v1/webhooks/recover", report(7, true)),
        ("POST /v1/webhooks/redeliver", report(1, false)),
    ]);
    let text = host.run_ok("webhook recover ep --since 2026-01-02T03:04:05Z");
    assert_eq!(text, "7 deliveries to ep (notes, acme/test): scheduled for another attempt.\n");
    let text = host.run_ok("webhook redeliver ep event_1");
    assert_eq!(text, "1 delivery to ep (notes, acme/test): sent again once the endpoint is enabled.\n");
    let sent = [
        r#"POST /v1/webhooks/recover {"plugin":null,"tenant":null,"endpoint":"ep","since":"2026-01-02T03:04:05.000Z"}"#,
        r#"POST /v1/webhooks/redeliver {"plugin":null,"tenant":null,"endpoint":"ep","event":"event_1"}"#,
    ];
    assert_eq!(host.requests(), sent);
}

#[test]
fn webhook_lists_send_their_filter_and_print_the_next_page() {
    let endpoints: Page<EndpointStatus> = Page { entries: vec![], next: Some("7".into()) };
    let deliveries: Page<DeliveryStatus> = Page { entries: vec![], next: None };
    let host = CannedHost::start([
        ("GET /v1/webhooks/endpoints", ok(endpoints)),
        ("GET /v1/webhooks/deliveries", ok(deliveries)),
        ("GET /v1/webhooks/attempts", ok(Vec::<AttemptStatus>::new())),
    ]);
    let text = host.run_ok("webhook endpoints --tenant acme/test --after 6");
    assert!(text.starts_with("PLUGIN  TENANT") && text.ends_with("There may be more: --after 7\n"), "{text}");
    let json = host.run_ok("webhook deliveries --state failed --json");
    assert_eq!(json, "{\"entries\":[],\"next\":null}\n");
    assert_eq!(host.run_ok("webhook attempts e&p event_1 --json"), "[]\n");
    let sent = [
        "GET /v1/webhooks/endpoints?limit=100&tenant=acme%2Ftest&after=6",
        "GET /v1/webhooks/deliveries?limit=100&state=failed",
        "GET /v1/webhooks/attempts?endpoint=e%26p&event=event%5F1",
    ];
    assert_eq!(host.requests(), sent);
}

#[test]
fn stored_message_is_printed_and_cannot_control_the_terminal() {
    let message = OutboxMessage {
        id: "message_1".into(),
        plugin: "notes".into(),
        tenant: "acme/test".into(),
        destination: "sms".into(),
        method: "POST".into(),
        path: "/send".into(),
        media_type: Some("text/plain".into()),
        body: "hello\n\u{1b}[2J".into(),
        bytes: 10,
        idempotency_key: None,
        at: TimestampText(1_000),
    };
    let host = CannedHost::start([("GET /v1/outbox", ok([message]))]);
    let text = host.run_ok("outbox --plugin notes --tenant acme/test --limit 5");
    assert!(text.contains("sms") && text.contains("POST /send") && text.contains("hello"), "{text}");
    assert!(text.contains("\\u{1b}[2J") && !text.contains('\u{1b}'), "{text}");
    let json = host.run_ok("outbox --json");
    assert!(json.contains("\"idempotency_key\":null"), "{json}");
    assert_eq!(host.requests()[0], "GET /v1/outbox?limit=5&plugin=notes&tenant=acme%2Ftest");
}

#[test]
fn seed_export_prints_only_the_words() {
    let owner = SeedOwner { plugin: "notes".into(), tenant: "acme/test".into() };
    let phrase = SecretText::new("abandon ability able".into());
    let copy = SeedCopy { plugin: "notes".into(), tenant: "acme/test".into(), phrase };
    let host = CannedHost::start([("GET /v1/seeds", ok([owner])), ("POST /v1/seeds/export", ok(copy))]);
    assert_eq!(host.run_ok("seed list"), "PLUGIN  TENANT\nnotes   acme/test\n");
    let text = host.run_ok("seed export --plugin notes --tenant acme/test");
    assert_eq!(text, "abandon ability able\n");
    let json = host.run_ok("seed export --plugin notes --tenant acme/test --json");
    assert_eq!(json, "{\"plugin\":\"notes\",\"tenant\":\"acme/test\",\"phrase\":\"abandon ability able\"}\n");
    assert_eq!(host.requests()[1], r#"POST /v1/seeds/export {"plugin":"notes","tenant":"acme/test"}"#);
}

const NO_FAULTS: FaultStatus = FaultStatus { fail_next: 0, stick_next: 0, slow_ms: 0, silence: Silence::Off };

#[test]
fn network_list_shows_active_faults() {
    let asset = |symbol: &str, address: Option<&str>| AssetStatus {
        symbol: symbol.into(),
        decimals: 6,
        address: address.map(str::to_owned),
    };
    let network = NetworkStatus {
        blockchain: "base".into(),
        network: NetworkSide::Main,
        name: "simulated-main".into(),
        chain_id: 7,
        height: None,
        block_time_ms: 250,
        coin: asset("ETH", None),
        tokens: vec![asset("USDC", Some("0x1"))],
        watched: 3,
        followed: 1,
        faults: Some(FaultStatus { stick_next: 2, silence: Silence::Taken, ..NO_FAULTS }),
    };
    let host = CannedHost::start([("GET /v1/chains", ok([network]))]);
    let text = host.run_ok("chain list");
    let line = "base        main     simulated-main      7       -       250  ETH         3         1  USDC\n";
    let faults = "    the next 2 transactions are stuck; silent, submitted transactions are accepted\n";
    assert!(text.ends_with(&format!("{line}{faults}")), "{text}");
    let text = host.run_ok("chain list --network test");
    assert!(text.contains("simulated = true in [chains]"), "{text}");
}

/// Returns the output of a command that controls a network. Checks its request.
fn control(line: &str, request: Value, hash: Option<&str>) -> String {
    let report = ControlReport {
        blockchain: "base".into(),
        network: serde_json::from_value(request["network"].clone()).unwrap(),
        hash: hash.map(str::to_owned),
        height: None,
        transactions: Some(4),
        faults: NO_FAULTS,
    };
    let host = CannedHost::start([("POST /v1/chains/control", ok(report))]);
    let text = host.run_ok(line);
    let sent = host.requests().remove(0);
    let body = sent.strip_prefix("POST /v1/chains/control ").unwrap();
    assert_eq!(serde_json::from_str::<Value>(body).unwrap(), request, "{line}");
    text
}

#[test]
fn chain_commands_report_results() {
    let give = json!({"kind": "give", "address": "0x1", "amount": "2.5", "token": "usdc"});
    let request = json!({"blockchain": "base", "network": "test", "control": give});
    assert_eq!(
        control("chain faucet base 0x1 2.5 --token usdc", request, Some("0xab")),
        "base (test): 2.5 usdc to 0x1 in the next block, transaction 0xab.\n"
    );
    let reorganise = json!({"kind": "reorganise", "depth": 3, "drop": false});
    let request = json!({"blockchain": "base", "network": "main", "control": reorganise});
    assert_eq!(
        control("chain reorganise base 3 --network main", request, None),
        "base (main): the last blocks were replaced; 4 transactions wait for the next block.\n"
    );
    let request = json!({"blockchain": "base", "network": "test", "control": {"kind": "release"}});
    assert_eq!(
        control("chain fault base release", request, None),
        "base (test): 4 transactions were released; no faults are active.\n"
    );
    let balance = BalanceReport {
        blockchain: "base".into(),
        network: NetworkSide::Test,
        address: "0x1".into(),
        balances: vec![Balance { symbol: "ETH".into(), amount: "2.5".into() }],
    };
    let host = CannedHost::start([("GET /v1/chains/balance", ok(balance))]);
    assert_eq!(host.run_ok("chain balance base 0x1"), "ASSET  AMOUNT\nETH       2.5\n");
}

#[test]
fn chain_commands_reject_invalid_values_and_report_unknown_transactions() {
    let unknown = AdminError::not_found("There is no 0xab.", "");
    let host = CannedHost::start([("GET /v1/chains/transaction", Err(unknown))]);
    for (line, expected) in [
        ("chain fault base fail some", "whole number"),
        ("chain fault base slow", "milliseconds"),
        ("chain fault base release 3", "take no value"),
        ("chain fault base silent maybe", "on, taken or off"),
        ("chain transaction base 0xab", "There is no 0xab."),
    ] {
        let error = host.run_err(line);
        assert!(error.contains(expected), "{line}: {error}");
    }
    assert_eq!(host.requests(), ["GET /v1/chains/transaction?blockchain=base&network=test&hash=0xab"]);
}
