//! Reference of every key of plugins.toml and every environment variable, for `tenon config reference` and the
//! operators' manual.

use std::fmt::{self, Display, Write};

use super::{
    keys::{self, ConfigKey, NumberKey},
    sources::VARIABLES,
};

/// Renders a Markdown table for each section.
pub fn render() -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = write_all(&mut out);
    out
}

fn write_all(out: &mut String) -> fmt::Result {
    table(out, "Top level", keys::TOP_KEYS, keys::TOP_NUMBERS)?;
    table(out, "`[http]`", keys::HTTP_KEYS, keys::HTTP_NUMBERS)?;
    table(out, "`[log]`", keys::LOG_KEYS, &[])?;
    table(out, "`[outbound]`", keys::OUTBOUND_KEYS, &[])?;
    table(out, "`[chains]`", keys::CHAIN_KEYS, keys::CHAIN_NUMBERS)?;
    table(out, "`[compile]`", &[], keys::COMPILE_NUMBERS)?;
    table(out, "`[oauth]`", keys::OAUTH_KEYS, keys::OAUTH_NUMBERS)?;
    table(out, "`[oauth.issuers.NAME]`", keys::ISSUER_KEYS, &[])?;
    writeln!(
        out,
        "### `[oauth.issuers.NAME.clients]`\n\nClient ids and the tenant of each: `\"bank\" = \"acme/live\"`.\n"
    )?;
    table(out, "`[plugins.NAME]`", keys::PLUGIN_KEYS, &[])?;
    table(out, "`[plugins.NAME.limits]`", &[], keys::LIMIT_NUMBERS)?;
    table(out, "`[plugins.NAME.webhooks]`", keys::WEBHOOK_KEYS, keys::WEBHOOK_NUMBERS)?;
    table(out, "`[plugins.NAME.tasks]`", keys::TASK_KEYS, &[])?;
    let destinations = "`[plugins.NAME.destinations.DEST]`";
    table(out, destinations, keys::DESTINATION_KEYS, &[&keys::DESTINATION_TIMEOUT])?;
    writeln!(out, "### `[plugins.NAME.settings]`\n\nSettings of the plugin, which receives them as JSON.\n")?;
    table(out, "`[retention.KIND]`", &[], &[])?;
    out.truncate(out.trim_end().len());
    retention(out)?;
    variables(out)
}

fn table(out: &mut String, title: &str, keys: &[&ConfigKey], numbers: &[&NumberKey]) -> fmt::Result {
    writeln!(out, "### {title}\n")?;
    if keys.is_empty() && numbers.is_empty() {
        return Ok(());
    }
    writeln!(out, "| key | default | from – to | description |\n|---|---|---|---|")?;
    for key in keys {
        let default = match key.default {
            "" => "required".to_owned(),
            keys::DEPENDS_ON_KIND => keys::DEPENDS_ON_KIND.to_owned(),
            default => format!("`{default}`"),
        };
        writeln!(out, "| `{}` | {default} | | {} |", key.name, key.description)?;
    }
    for number in numbers {
        let (default, min, max) = (grouped(number.default), grouped(number.min), grouped(number.max));
        writeln!(out, "| `{}` | `{default}` | {min} – {max} | {} |", number.name, number.description)?;
    }
    writeln!(out)
}

fn retention(out: &mut String) -> fmt::Result {
    writeln!(out, "\n\n| kind | `age-ms-max` | `bytes-max` | description |\n|---|---|---|---|")?;
    for key in keys::RETENTION {
        let age = key.age_ms_default.map_or("for ever".to_owned(), |age| format!("`{}`", grouped(age)));
        let bytes = if key.has_bytes { "no limit" } else { "–" };
        writeln!(out, "| `{}` | {age} | {bytes} | {} |", key.kind, key.description)?;
    }
    writeln!(out)
}

fn variables(out: &mut String) -> fmt::Result {
    writeln!(out, "### Environment variables\n\n| variable | description |\n|---|---|")?;
    VARIABLES.iter().try_for_each(|(name, description)| writeln!(out, "| `{name}` | {description} |"))
}

/// Formats a number as "67_108_864", which TOML allows.
fn grouped(number: impl Display) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    out
}
