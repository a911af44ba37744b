//! The log of the host: readable lines on a terminal, JSON otherwise.
//!
//! Owns the one subscriber. Each module decides what it logs. No module may log a secret, the value of a header, or a
//! query.

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, fmt, prelude::*};

/// Filter used if neither `TENON_LOG` nor `RUST_LOG` is set, or if the requested filter is invalid.
const DEFAULT_FILTER: &str = "info";

/// Levels of libraries that the filter does not name. One compilation logs 30 000 lines. `notify` watches a log file
/// beside plugins.toml as well, so each line that it logged would cause the next one. `h2` warns of every error of a
/// client.
const LIBRARIES: [(&str, &str); 6] = [
    ("wasmtime", "warn"),
    ("cranelift", "warn"),
    ("sqlx", "warn"),
    ("hyper", "warn"),
    ("notify", "warn"),
    ("h2", "error"),
];

/// Returns the requested filter, and a warning if it is invalid. `TENON_LOG` takes precedence over `RUST_LOG`, so that
/// a shell set up for other programs does not change this one.
pub fn filter(tenon_log: Option<&str>, rust_log: Option<&str>) -> (EnvFilter, Option<String>) {
    let requested = [("TENON_LOG", tenon_log), ("RUST_LOG", rust_log)]
        .into_iter()
        .find_map(|(name, value)| value.filter(|value| !value.trim().is_empty()).map(|value| (name, value)));
    let Some((name, value)) = requested else {
        return (EnvFilter::new(DEFAULT_FILTER), None);
    };
    match EnvFilter::try_new(value) {
        Ok(filter) => (filter, None),
        Err(error) => (
            EnvFilter::new(DEFAULT_FILTER),
            Some(format!(
                "{name} is not a valid log filter ({error}); logging at info. Try {name}=debug or {name}=info,tenon=debug."
            )),
        ),
    }
}

/// Sends the log of this process to standard error. A second call changes nothing.
pub fn start(tenon_log: Option<&str>, rust_log: Option<&str>) {
    let (mut filter, warning) = filter(tenon_log, rust_log);
    let requested = filter.to_string();
    for (library, level) in LIBRARIES {
        if !requested.contains(library)
            && let Ok(quiet) = format!("{library}={level}").parse()
        {
            filter = filter.add_directive(quiet);
        }
    }
    let subscriber = tracing_subscriber::registry().with(filter);
    let started = if std::io::stderr().is_terminal() {
        subscriber.with(layer().with_target(false).with_writer(std::io::stderr)).try_init()
    } else {
        subscriber
            .with(layer().json().flatten_event(true).with_span_list(false).with_writer(std::io::stderr))
            .try_init()
    };
    if let (Ok(()), Some(warning)) = (started, warning) {
        tracing::warn!("{warning}");
    }
}

/// Returns a layer that drops lines that cannot be written. By default, the library reports the failure on standard
/// error, and panics if that fails as well.
fn layer<S>() -> fmt::Layer<S> {
    fmt::layer().log_internal_errors(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenon_log_takes_precedence_over_rust_log() {
        assert_eq!(filter(Some("debug"), Some("error")).0.to_string(), "debug");
        assert_eq!(filter(Some(" "), Some("error")).0.to_string(), "error");
    }

    #[test]
    fn invalid_filter_is_reported_and_replaced_by_info() {
        let (filter, warning) = filter(Some("tenon=[[["), None);
        assert!(filter.to_string().contains("info"));
        assert!(warning.unwrap().starts_with("TENON_LOG is not a valid log filter"));
    }
}
