//! Every key of plugins.toml and every variable, for people: `tenon config reference` and the operators' manual.

use std::fmt::{self, Display, Write};

use super::{
    keys::{self, Number, Word},
    sources::VARIABLES,
};

/// Markdown tables, one for each section.
pub fn render() -> String {
    let mut out = String::new();
    // Writing into a String does not fail.
    let _ = write_all(&mut out);
    out
}

fn write_all(out: &mut String) -> fmt::Result {
    table(out, "At the top", &keys::TOP_WORDS, &keys::TOP_NUMBERS)?;
    table(out, "`[http]`", &keys::HTTP_WORDS, &keys::HTTP_NUMBERS)?;
    table(out, "`[log]`", &keys::LOG_WORDS, &[])?;
    table(out, "`[outbound]`", &keys::OUTBOUND_WORDS, &[])?;
    table(out, "`[chains]`", &keys::CHAIN_WORDS, &keys::CHAIN_NUMBERS)?;
    table(out, "`[compile]`", &[], &keys::COMPILE_NUMBERS)?;
    table(out, "`[oauth]`", &keys::OAUTH_WORDS, &keys::OAUTH_NUMBERS)?;
    table(out, "`[oauth.issuers.NAME]`", &keys::ISSUER_WORDS, &[])?;
    writeln!(
        out,
        "### `[oauth.issuers.NAME.clients]`\n\nThe id of a client and the tenant that it stands for: `\"bank\" = \"acme/live\"`.\n"
    )?;
    table(out, "`[plugins.NAME]`", &keys::PLUGIN_WORDS, &[])?;
    table(out, "`[plugins.NAME.limits]`", &[], &keys::LIMIT_NUMBERS)?;
    table(out, "`[plugins.NAME.webhooks]`", &keys::WEBHOOK_WORDS, &keys::WEBHOOK_NUMBERS)?;
    table(out, "`[plugins.NAME.tasks]`", &keys::TASK_WORDS, &[])?;
    let destinations = "`[plugins.NAME.destinations.DEST]`";
    table(out, destinations, &keys::DESTINATION_WORDS, &[&keys::DESTINATION_TIMEOUT])?;
    writeln!(out, "### `[plugins.NAME.settings]`\n\nWhatever the plugin reads; it sees these values as JSON.\n")?;
    table(out, "`[retention.KIND]`", &[], &[])?;
    out.truncate(out.trim_end().len());
    retention(out)?;
    variables(out)
}

fn table(out: &mut String, title: &str, words: &[&Word], numbers: &[&Number]) -> fmt::Result {
    writeln!(out, "### {title}\n")?;
    if words.is_empty() && numbers.is_empty() {
        return Ok(());
    }
    writeln!(out, "| key | default | from – to | what |\n|---|---|---|---|")?;
    for word in words {
        let default = match word.default {
            "" => "must be given".to_owned(),
            keys::BY_KIND => keys::BY_KIND.to_owned(),
            default => format!("`{default}`"),
        };
        writeln!(out, "| `{}` | {default} | | {} |", word.name, word.what)?;
    }
    for number in numbers {
        let (default, min, max) = (grouped(number.default), grouped(number.min), grouped(number.max));
        writeln!(out, "| `{}` | `{default}` | {min} – {max} | {} |", number.name, number.what)?;
    }
    writeln!(out)
}

fn retention(out: &mut String) -> fmt::Result {
    writeln!(out, "\n\n| kind | `age-ms-max` | `bytes-max` | what |\n|---|---|---|---|")?;
    for kept in &keys::RETENTION {
        let age = kept.age_ms_default.map_or("for ever".to_owned(), |age| format!("`{}`", grouped(age)));
        let bytes = if kept.has_bytes { "no limit" } else { "–" };
        writeln!(out, "| `{}` | {age} | {bytes} | {} |", kept.kind, kept.what)?;
    }
    writeln!(out)
}

fn variables(out: &mut String) -> fmt::Result {
    writeln!(out, "### Variables of the environment\n\n| variable | what |\n|---|---|")?;
    VARIABLES.iter().try_for_each(|(name, what)| writeln!(out, "| `{name}` | {what} |"))
}

/// 67_108_864, as TOML allows it to be written.
fn grouped(number: impl Display) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    out
}
