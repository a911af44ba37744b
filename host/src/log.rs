//! Where the host's log goes: readable lines on a terminal, JSON where nobody is looking.
//!
//! Owns the one subscriber. Never decides what is logged: that is each room's business, and none of them may log a
//! secret, a header's value or a query.

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, fmt, prelude::*};

/// Where nothing was asked for.
const DEFAULT_FILTER: &str = "info";

/// Whose inside is shown only to who names them: a compilation alone has 30 000 lines. And a log file beside plugins.toml is
/// watched: each line about that would make the next one. HTTP/2 warns of what callers do, as often as they do it.
const LIBRARIES: [(&str, &str); 6] = [
    ("wasmtime", "warn"),
    ("cranelift", "warn"),
    ("sqlx", "warn"),
    ("hyper", "warn"),
    ("notify", "warn"),
    ("h2", "error"),
];

/// The filter that was asked for. `TENON_LOG` goes before `RUST_LOG`, so that a shell set up for other programs
/// does not decide for this one.
pub fn filter(tenon_log: Option<&str>, rust_log: Option<&str>) -> (EnvFilter, Option<String>) {
    let asked = [("TENON_LOG", tenon_log), ("RUST_LOG", rust_log)]
        .into_iter()
        .find_map(|(name, text)| text.filter(|text| !text.trim().is_empty()).map(|text| (name, text)));
    let Some((name, text)) = asked else {
        return (EnvFilter::new(DEFAULT_FILTER), None);
    };
    match EnvFilter::try_new(text) {
        Ok(filter) => (filter, None),
        Err(error) => (
            EnvFilter::new(DEFAULT_FILTER),
            Some(format!(
                "{name} is not a log filter ({error}); logging at info. Try {name}=debug or {name}=info,tenon=debug."
            )),
        ),
    }
}

/// Sends the log of this process to standard error. A second call changes nothing.
pub fn start(tenon_log: Option<&str>, rust_log: Option<&str>) {
    let (mut filter, complaint) = filter(tenon_log, rust_log);
    let asked = filter.to_string();
    for (library, level) in LIBRARIES {
        if !asked.contains(library)
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
    if let (Ok(()), Some(complaint)) = (started, complaint) {
        tracing::warn!("{complaint}");
    }
}

/// Drops lines that cannot be written. By default, the library reports that on standard error, and panics if this fails as well.
fn layer<S>() -> fmt::Layer<S> {
    fmt::layer().log_internal_errors(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_variable_goes_before_the_one_of_all_rust_programs() {
        assert_eq!(filter(Some("debug"), Some("error")).0.to_string(), "debug");
        assert_eq!(filter(Some(" "), Some("error")).0.to_string(), "error");
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_named_and_info_stays() {
        let (filter, complaint) = filter(Some("tenon=[[["), None);
        assert!(filter.to_string().contains("info"));
        assert!(complaint.unwrap().starts_with("TENON_LOG is not a log filter"));
    }
}
