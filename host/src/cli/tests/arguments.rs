//! Tests of command lines: the definition, examples and documents, and invalid arguments.

use clap::{Command, CommandFactory, Parser, error::ErrorKind};

use crate::cli::Cli;

#[test]
fn command_line_definition_is_valid() {
    Cli::command().debug_assert();
}

/// Returns the command of a line, without indentation, comment, pipe and redirection. Two spaces or " #" begin a
/// comment.
fn command_in(line: &str) -> &str {
    let ends = ["  ", " #", " | ", " > ", " < "];
    ends.into_iter().fold(line.trim(), |line, end| line.split(end).next().unwrap_or_default())
}

fn assert_accepted(line: &str) {
    if let Err(error) = Cli::try_parse_from(line.split_whitespace()) {
        panic!("{line}: {error}");
    }
}

/// Parses the lines of each help that begin with `tenon`. A line that ends with `\` continues on the next one.
#[test]
fn every_command_has_examples_that_are_accepted() {
    fn check(command: &Command, path: &str) {
        let path = format!("{path} {}", command.get_name());
        let help = command.get_after_help().map(|help| help.to_string()).unwrap_or_default();
        let help = help.split("\\\n").map(str::trim).collect::<Vec<_>>().join(" ");
        let examples: Vec<&str> = help.lines().map(command_in).filter(|line| line.starts_with("tenon ")).collect();
        assert!(help.contains("Example") && !examples.is_empty(), "{path} has no example");
        examples.into_iter().for_each(assert_accepted);
        command.get_subcommands().filter(|inner| !inner.is_hide_set()).for_each(|inner| check(inner, &path));
    }
    check(&Cli::command(), "");
}

/// Parses lines with flags that no example has.
#[test]
fn flags_without_an_example_are_accepted() {
    for line in [
        "serve --admin 127.0.0.1:2 --database sqlite:x",
        "key create --plugin notes --tenant acme --environment test --scope a --scope b --allow-unknown-scopes",
        "key create --plugin notes --tenant acme --environment test --owner key_1 --signs --json",
        "key --admin 10.0.0.1:9 revoke key_1 --data-dir d --as ada",
        "client create --plugin notes --tenant acme --environment live --scope a --scope b --json",
        "client rotate client_1 --json",
        "plugin check a.wasm --plugin notes --config a.toml --data-dir d --json",
        "plugin compile --json",
        "plugin deploy a.wasm --plugin notes --allow-breaking --allow-slow-index --json",
        "plugin routes notes --json --admin 10.0.0.1:9",
        "plugin rollback notes --json --admin 10.0.0.1:9",
        "plugin profile notes --force --json",
        "journal --plugin notes --since 2026-01-02T03:04:05Z",
        "webhook endpoints --endpoint ep --limit 5 --after 7 --json",
        "webhook redeliver ep event_1 --plugin notes --tenant acme/test --json --as ada",
        "webhook recover ep --since 90m --tenant acme/test --json",
        "task list --plugin notes --after 7 --json",
        "effect drop a:b --json",
        "outbox --json",
        "audit verify --database sqlite:x --data-dir d",
        "audit list --after 7 --admin 10.0.0.1:9",
        "listen",
        "listen --listen 127.0.0.1:0 --secret-file f --delay-ms 20",
        "seed export --plugin notes --tenant acme/live --json",
        "seed import --plugin notes --tenant acme/live --as ada --admin 10.0.0.1:9",
        "chain faucet base 0x1 2.5 --network main --json",
        "chain balance base 0x1 --json",
        "chain mine base --json",
        "chain reorganise base 3 --json",
        "chain fault base silent taken --network main --json",
        "backup b --database sqlite:x --as ada",
        "restore b --database sqlite:x --as ada --json",
        "db check --database sqlite:x --quick",
        "db create --as ada",
        "db accept --as ada --json",
        "config check --admin 127.0.0.1:2 --strict --json",
    ] {
        assert_accepted(&format!("tenon {line}"));
    }
}

/// Parses the lines of the documents that begin with `tenon`. Lines with a placeholder ("…") are skipped.
#[test]
fn commands_in_the_documentation_are_accepted() {
    let documents = [
        include_str!("../../../../README.md"),
        include_str!("../../../../docs/operators.md"),
        include_str!("../../../../docs/operators/backup-and-restore.md"),
        include_str!("../../../../docs/operators/blockchains.md"),
        include_str!("../../../../docs/operators/capacity.md"),
        include_str!("../../../../docs/operators/destinations-and-tasks.md"),
        include_str!("../../../../docs/operators/install.md"),
        include_str!("../../../../docs/operators/journal-and-audit.md"),
        include_str!("../../../../docs/operators/keys-and-secrets.md"),
        include_str!("../../../../docs/operators/reference.md"),
        include_str!("../../../../docs/operators/swap-plugins.md"),
        include_str!("../../../../docs/operators/webhooks.md"),
        include_str!("../../../../docs/plugin-authors.md"),
        include_str!("../../../../docs/troubleshooting.md"),
        include_str!("../../../../docs/systemd/tenon.service"),
    ];
    let mut tried = 0;
    for line in documents.iter().flat_map(|text| text.lines()) {
        let line = line.replace("target/release/tenon", "tenon").replace("ExecStart=/usr/local/bin/tenon", "tenon");
        let line = command_in(&line).replace('\'', "");
        if line.starts_with("tenon ") && !line.contains('…') {
            assert_accepted(&line);
            tried += 1;
        }
    }
    assert!(tried > 15, "only {tried} commands found");
}

#[test]
fn help_of_recover_names_the_deliveries_that_it_does_not_send() {
    let help = Cli::try_parse_from(["tenon", "webhook", "recover", "--help"]).err().unwrap().to_string();
    assert!(help.contains("given up since a time (state `failed`)"), "{help}");
    assert!(help.contains("(`retrying`) keep their time"), "{help}");
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
