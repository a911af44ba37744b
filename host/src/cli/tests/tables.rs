//! Tests of the text output.

use crate::{
    admin::wire::{
        CheckReport, DisabledStatus, EndpointStatus, JournalLine, KeyEnvironment, KeyStatus, LedgerReport, LedgerSum,
        LiveStatus, PluginState, PluginStatus, StepTime, TimestampText,
    },
    cli::{key, ledger, outbox, plugin, webhook},
};

#[test]
fn empty_outbox_is_distinguished_from_a_filter_that_matches_nothing() {
    assert_eq!(outbox::render(&[], false), "There are no stored messages.\n");
    assert_eq!(outbox::render(&[], true), "No stored message matches the filter.\n");
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
