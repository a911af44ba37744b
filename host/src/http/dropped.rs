//! Log lines about headers that plugins set and the host leaves out: one for each plugin and header in a minute.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use http::HeaderName;
use parking_lot::Mutex;

use crate::limits::{DROPPED_HEADER_LINE_MS, DROPPED_HEADERS_KNOWN_MAX};

/// Time of the last log line about each header of each plugin.
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
                "dropped the header {name} of an answer of {plugin}: it is the host's, or acts on the whole origin and is not \
                 in origin-headers of [plugins.{plugin}]"
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
        if logged.len() >= DROPPED_HEADERS_KNOWN_MAX {
            logged.retain(|_, last| is_recent(last));
        }
        // A plugin that makes names up gets no more lines within the minute.
        if logged.len() >= DROPPED_HEADERS_KNOWN_MAX {
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
    fn header_of_a_plugin_is_logged_once_in_a_minute() {
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
    fn invented_names_are_bounded() {
        let dropped = DroppedHeaders::default();
        let (notes, now) = (Arc::from("notes"), Instant::now());
        let names = (0..1_000).map(|number| HeaderName::try_from(format!("access-control-{number}")).unwrap());
        let logged = names.filter(|name| dropped.is_due(&notes, name, now)).count();
        assert_eq!(logged, DROPPED_HEADERS_KNOWN_MAX);
    }
}
