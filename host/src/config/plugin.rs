//! One `[plugins.NAME]` section as a [`PluginConfig`].

use std::{
    collections::BTreeMap,
    ops::{Range, RangeInclusive},
    sync::Arc,
};

use serde_json::Value;
use toml::de::DeValue;

use super::{
    DestinationConfig, Environment, PluginConfig, PluginLimits, Purpose, Success, TaskConfig, WebhookConfig,
    destination::{self, PluginContext, check_destination_name},
    keys::{self, ConfigKey},
    mistakes::suggest,
    section::{Located, Section},
};

use crate::limits::{RETRY_DELAYS_MS, TASK_DELAY_MS_MAX, TASK_DELAYS_MAX, WEBHOOK_DELAY_MS_MAX, WEBHOOK_DELAYS_MAX};

const NAME_CHARS_MAX: usize = 32;

/// Checks the name of a plugin.
pub fn check_name(name: &str) -> Result<(), String> {
    let letters = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    if letters && starts && !name.ends_with('-') && name.len() <= NAME_CHARS_MAX {
        return Ok(());
    }
    Err(format!(
        "`{}` is not a valid plugin name: it must be 1 to {NAME_CHARS_MAX} lower-case letters, digits and hyphens, begin with a letter, and not end with a hyphen.",
        name.escape_debug()
    ))
}

/// Reads the section and reports its mistakes. Returns `None` if `component` is absent or not a string.
pub fn read(mut section: Section<'_>, context: PluginContext<'_>) -> Option<PluginConfig> {
    let component = section.take_string(&keys::COMPONENT);
    if component.as_ref().is_none_or(|path| path.value.is_empty()) {
        let path = section.path(keys::COMPONENT.name);
        section.mistakes().at(section.span(), format!("`{path}` is missing: {}.", keys::COMPONENT.description));
    }
    let (path, mistakes) = (section.path(keys::COMPONENT.name), section.mistakes());
    let mount = read_mount(&mut section);
    let grants = read_grants(&mut section);
    let examples = section.take_strings(&keys::EXAMPLES).into_iter().map(|example| example.value).collect();
    let shows_private_keys = read_show_private_keys(&mut section, context.environment);
    let origin_headers = read_origin_headers(&mut section);
    let limits = read_limits(section.take_table("limits"));
    let webhooks = read_webhooks(section.take_table("webhooks"));
    let tasks = read_tasks(section.take_table("tasks"));
    let destinations = read_destinations(section.take_table("destinations"), context);
    let settings = read_settings(section.take_table("settings"));
    section.finish();
    let path_in_file = component?;
    let component = context.folder.join(&path_in_file.value);
    if context.purpose == Purpose::Check && !path_in_file.value.is_empty() && !component.is_file() {
        let text = format!("`{path}`: there is no file {}.", component.display());
        mistakes.at(&path_in_file.span, text);
    }
    Some(PluginConfig {
        component,
        mount,
        grants,
        shows_private_keys,
        origin_headers,
        examples,
        limits,
        webhooks,
        tasks,
        destinations,
        settings,
    })
}

fn read_mount(section: &mut Section<'_>) -> String {
    let Some(mount) = section.take_string(&keys::MOUNT) else { return "/".to_owned() };
    if !is_mount(&mount.value) {
        let path = section.path(keys::MOUNT.name);
        let text = format!("`{path}` must be \"/\" or a path such as \"/notes\", without a \"/\" at its end.");
        section.mistakes().at(&mount.span, text);
    }
    mount.value
}

fn is_mount(mount: &str) -> bool {
    let allowed = |segment: &str| {
        !matches!(segment, "" | "." | "..") && segment.chars().all(|c| c.is_ascii_alphanumeric() || "-._~".contains(c))
    };
    mount == "/" || mount.strip_prefix('/').is_some_and(|rest| rest.split('/').all(allowed))
}

fn read_grants(section: &mut Section<'_>) -> Vec<String> {
    let path = section.path(keys::GRANTS.name);
    let mut grants: Vec<String> = Vec::new();
    for grant in section.take_strings(&keys::GRANTS) {
        if !keys::GRANT_NAMES.contains(&grant.value.as_str()) {
            let hint = suggest(&grant.value, keys::GRANT_NAMES);
            let text = format!("`{path}`: the contract has no interface \"{}\".{hint}", grant.value.escape_debug());
            section.mistakes().at(&grant.span, text);
        } else if grants.contains(&grant.value) {
            section.mistakes().at(&grant.span, format!("`{path}` names \"{}\" twice.", grant.value));
        } else {
            grants.push(grant.value);
        }
    }
    grants
}

fn read_origin_headers(section: &mut Section<'_>) -> Vec<String> {
    let path = section.path(keys::ORIGIN_HEADERS.name);
    let mut names = Vec::new();
    for header in section.take_strings(&keys::ORIGIN_HEADERS) {
        let name = header.value.to_ascii_lowercase();
        if !keys::ORIGIN_HEADER_NAMES.contains(&name.as_str()) {
            let hint = suggest(&name, keys::ORIGIN_HEADER_NAMES);
            let text = format!("`{path}`: \"{}\" is not an origin-wide header.{hint}", name.escape_debug());
            section.mistakes().at(&header.span, text);
        }
        names.push(name);
    }
    names
}

fn read_show_private_keys(section: &mut Section<'_>, environment: Environment) -> bool {
    let shows = section.take_bool(&keys::SHOW_PRIVATE_KEYS).unwrap_or_default();
    if shows && environment == Environment::Production {
        let path = section.path(keys::SHOW_PRIVATE_KEYS.name);
        section.mistakes().at(section.span(), format!("`{path}` must not be true in production."));
    }
    shows
}

fn read_limits(mut section: Section<'_>) -> PluginLimits {
    let rate_per_second = section.number(&keys::RATE);
    let burst = section.number(&keys::BURST);
    if rate_per_second == 0 && burst > 0 {
        let (rate, burst) = (section.path(keys::RATE.name), section.path(keys::BURST.name));
        section.mistakes().at(section.span(), format!("`{burst}` requires `{rate}`: set both or neither."));
    }
    let limits = PluginLimits {
        deadline_ms: section.number(&keys::DEADLINE),
        compute_ms: section.number(&keys::COMPUTE),
        memory_bytes: section.number(&keys::MEMORY),
        answer_bytes: section.number(&keys::ANSWER),
        host_calls: section.number(&keys::HOST_CALLS),
        host_call_bytes: section.number(&keys::HOST_CALL_BYTES),
        calls: convert(section.number(&keys::CALLS)),
        queue: convert(section.number(&keys::QUEUE)),
        tenant_percent: section.number(&keys::TENANT_CALLS),
        component_bytes: section.number(&keys::COMPONENT_BYTES),
        functions: section.number(&keys::FUNCTIONS),
        function_bytes: section.number(&keys::FUNCTION_BYTES),
        components_kept: convert(section.number(&keys::COMPONENTS_KEPT)),
        rate_per_second: convert(rate_per_second),
        rate_burst: convert(if burst == 0 { rate_per_second } else { burst }),
    };
    if limits.compute_ms > limits.deadline_ms {
        let (compute, deadline) = (section.path(keys::COMPUTE.name), section.path(keys::DEADLINE.name));
        let text = format!(
            "`{compute}` ({}) must not be longer than `{deadline}` ({}).",
            limits.compute_ms, limits.deadline_ms
        );
        section.mistakes().at(section.span(), text);
    }
    section.finish();
    limits
}

/// Converts a number. Cannot fail, because the bounds in `keys` are below the maximum of each of these types.
fn convert<T: TryFrom<u64> + Default>(number: u64) -> T {
    T::try_from(number).unwrap_or_default()
}

fn read_webhooks(mut section: Section<'_>) -> WebhookConfig {
    let schedule = section.take_numbers(&keys::SCHEDULE);
    if let Some(schedule) = &schedule {
        check_delays(&section, &keys::SCHEDULE, schedule, (WEBHOOK_DELAYS_MAX, 1..=WEBHOOK_DELAY_MS_MAX));
    }
    let success = section.take_string(&keys::SUCCESS);
    let success = match success.as_ref().map(|text| text.value.as_str()) {
        None | Some("2xx") => Success::Any2xx,
        Some("200") => Success::Only200,
        Some(other) => {
            let path = section.path(keys::SUCCESS.name);
            let text = format!("`{path}` must be \"2xx\", or \"200\" for that status only, and is {other:?}.");
            section.mistakes().at(success.as_ref().map_or(section.span(), |text| &text.span), text);
            Success::Any2xx
        }
    };
    let disable_after = section.number(&keys::DISABLE_AFTER);
    let config = WebhookConfig {
        schedule_ms: schedule.map_or_else(|| RETRY_DELAYS_MS.to_vec(), |schedule| schedule.value),
        success,
        timeout_ms: section.number(&keys::WEBHOOK_TIMEOUT),
        disable_after_ms: (disable_after > 0).then_some(disable_after),
    };
    section.finish();
    config
}

fn read_tasks(mut section: Section<'_>) -> TaskConfig {
    let delays = section.take_numbers(&keys::TASK_DELAYS);
    if let Some(delays) = &delays {
        check_delays(&section, &keys::TASK_DELAYS, delays, (TASK_DELAYS_MAX, 0..=TASK_DELAY_MS_MAX));
    }
    section.finish();
    TaskConfig { delays_ms: delays.map(|delays| delays.value) }
}

/// Reports the first delay that is out of bounds, or a list that is too long.
fn check_delays(
    section: &Section<'_>,
    key: &ConfigKey,
    delays: &Located<Vec<u64>>,
    (count_max, bounds): (usize, RangeInclusive<u64>),
) {
    let wrong = (1_usize..).zip(&delays.value).find(|(_, delay)| !bounds.contains(*delay));
    let found = match wrong {
        Some((member, delay)) => format!("member {member} is {delay}"),
        None if delays.value.len() > count_max => format!("holds {}", delays.value.len()),
        None => return,
    };
    let (path, min, max) = (section.path(key.name), bounds.start(), bounds.end());
    let text = format!("`{path}` must contain at most {count_max} numbers from {min} to {max}, and {found}.");
    section.mistakes().at(&delays.span, text);
}

fn read_destinations(section: Section<'_>, context: PluginContext<'_>) -> BTreeMap<Arc<str>, Arc<DestinationConfig>> {
    let mistakes = section.mistakes();
    let mut destinations = BTreeMap::new();
    for (name, span, section) in section.into_tables() {
        if let Err(text) = check_destination_name(name) {
            mistakes.at(&span, format!("{text}."));
        }
        if let Some(config) = destination::read(section, context) {
            destinations.insert(Arc::from(name), config);
        }
    }
    destinations
}

fn read_settings(section: Section<'_>) -> BTreeMap<String, Value> {
    let (mistakes, prefix) = (section.mistakes(), section.path(""));
    let values = section.into_values().into_iter();
    let json = values.filter_map(|(key, Located { value, span })| match to_json(value, &span) {
        Ok(value) => Some((key.to_owned(), value)),
        Err((span, text)) => {
            mistakes.at(&span, format!("`{prefix}{key}` {text}"));
            None
        }
    });
    json.collect()
}

/// Converts a value to JSON. A date becomes a string.
fn to_json(value: &DeValue<'_>, span: &Range<usize>) -> Result<Value, (Range<usize>, &'static str)> {
    match value {
        DeValue::String(text) => Ok(Value::String(text.clone().into_owned())),
        DeValue::Boolean(value) => Ok(Value::Bool(*value)),
        DeValue::Datetime(date) => Ok(Value::String(date.to_string())),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map(Value::from)
            .map_err(|_| (span.clone(), "must fit into 64 bits, or be a string in quotes.")),
        DeValue::Float(float) => float
            .as_str()
            .parse()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map(Value::Number)
            .ok_or((span.clone(), "must be a number that JSON can represent.")),
        DeValue::Array(items) => {
            items.iter().map(|item| to_json(item.get_ref(), &item.span())).collect::<Result<_, _>>().map(Value::Array)
        }
        DeValue::Table(table) => table
            .iter()
            .map(|(key, item)| Ok((key.get_ref().clone().into_owned(), to_json(item.get_ref(), &item.span())?)))
            .collect::<Result<_, _>>()
            .map(Value::Object),
    }
}
