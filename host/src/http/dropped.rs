//! Logs headers of plugin answers that the host removes, at most once a minute for each plugin and header.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use http::HeaderName;
use parking_lot::Mutex;

use crate::limits::{DROPPED_HEADER_LINE_MS, DROPPED_HEADERS_TRACKED_MAX};

/// Time of the last log line for each plugin and header.
#[derive(Default)]
pub(super) struct DroppedHeaders {
    logged: Mutex<HashMap<(Arc<str>, HeaderName), Instant>>,
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
        let key = (plugin.clone(), name.clone());
        let is_recent = |last: &Instant| now.duration_since(*last) < Duration::from_millis(DROPPED_HEADER_LINE_MS);
        if logged.get(&key).is_some_and(is_recent) {
            return false;
        }
        if logged.len() >= DROPPED_HEADERS_TRACKED_MAX {
            logged.retain(|_, last| is_recent(last));
        }
        // Bounds the map against a plugin that generates header names. While the map is full, new headers of all
        // plugins get no lines.
        if logged.len() >= DROPPED_HEADERS_TRACKED_MAX {
            return false;
        }
        logged.insert(key, now);
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
}
