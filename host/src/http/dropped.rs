//! Logs headers of plugin answers that the host removes, at most once a minute for each plugin and header.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use http::HeaderName;
use parking_lot::Mutex;

use crate::limits::{DROPPED_HEADER_LINE_MS, DROPPED_HEADERS_TRACKED_MAX};

/// Time of the last log line for each header of each plugin.
#[derive(Default)]
pub(super) struct DroppedHeaders {
    logged: Mutex<HashMap<Arc<str>, HashMap<HeaderName, Instant>>>,
}

impl DroppedHeaders {
    pub fn log(&self, plugin: &Arc<str>, name: &HeaderName) {
        if self.is_due(plugin, name, Instant::now()) {
            tracing::warn!(
                plugin = &**plugin,
                header = name.as_str(),
                "dropped the header {name} of an answer of {plugin}: the host sets it, or it applies to the whole \
                 origin and origin-headers of [plugins.{plugin}] does not list it"
            );
        }
    }

    fn is_due(&self, plugin: &Arc<str>, name: &HeaderName, now: Instant) -> bool {
        let mut logged = self.logged.lock();
        let headers = logged.entry(plugin.clone()).or_default();
        let is_recent = |last: &Instant| now.duration_since(*last) < Duration::from_millis(DROPPED_HEADER_LINE_MS);
        if headers.get(name).is_some_and(is_recent) {
            return false;
        }
        if headers.len() >= DROPPED_HEADERS_TRACKED_MAX {
            headers.retain(|_, last| is_recent(last));
        }
        // Bounds the map of a plugin that generates header names. While it is full, new headers of this plugin get no
        // lines.
        if headers.len() >= DROPPED_HEADERS_TRACKED_MAX {
            return false;
        }
        headers.insert(name.clone(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_header_is_logged_once_a_minute_per_plugin() {
        let dropped = DroppedHeaders::default();
        let (notes, things) = (Arc::from("notes"), Arc::from("things"));
        let name = HeaderName::from_static("set-cookie");
        let now = Instant::now();
        assert!(dropped.is_due(&notes, &name, now));
        assert!(!dropped.is_due(&notes, &name, now));
        assert!(dropped.is_due(&things, &name, now));
        assert!(dropped.is_due(&notes, &name, now + Duration::from_millis(DROPPED_HEADER_LINE_MS)));
    }

    #[test]
    fn number_of_tracked_header_names_is_bounded() {
        let dropped = DroppedHeaders::default();
        let (notes, now) = (Arc::from("notes"), Instant::now());
        let names = (0..1_000).map(|number| HeaderName::try_from(format!("access-control-{number}")).unwrap());
        let logged = names.filter(|name| dropped.is_due(&notes, name, now)).count();
        assert_eq!(logged, DROPPED_HEADERS_TRACKED_MAX);
    }

    #[test]
    fn plugin_that_generates_header_names_does_not_suppress_lines_of_another_plugin() {
        let dropped = DroppedHeaders::default();
        let (notes, things, now) = (Arc::from("notes"), Arc::from("things"), Instant::now());
        for number in 0..=DROPPED_HEADERS_TRACKED_MAX {
            let name = HeaderName::try_from(format!("access-control-{number}")).unwrap();
            dropped.is_due(&notes, &name, now);
        }
        let name = HeaderName::from_static("set-cookie");
        assert!(!dropped.is_due(&notes, &name, now));
        assert!(dropped.is_due(&things, &name, now));
    }
}
