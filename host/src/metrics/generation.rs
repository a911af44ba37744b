//! The metrics of one generation. Each series is resolved once, so that counting a request is a lookup and an addition.
//!
//! Invariant: every series with the label `generation` is removed when its [`GenerationMetrics`] is dropped.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use prometheus::{Histogram, IntCounter, IntGauge};

use super::Families;

/// Label of requests whose operation is not in the manifest (unknown path, method not allowed).
const NO_OPERATION: &str = "none";
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The plugin trapped.
    Trap,
    /// The plugin exceeded its computing time or its deadline.
    Deadline,
    /// The plugin exceeded its memory limit, or the memory budget of the host had no room for the call.
    Memory,
    /// The plugin exceeded another limit, for example of host calls, their bytes, or the size of the answer.
    Limit,
    /// The plugin violated the contract, or returned an error instead of an answer.
    Contract,
    /// The host or its database failed.
    Host,
}

impl FaultKind {
    pub const ALL: [FaultKind; 6] = [
        FaultKind::Trap,
        FaultKind::Deadline,
        FaultKind::Memory,
        FaultKind::Limit,
        FaultKind::Contract,
        FaultKind::Host,
    ];

    /// Returns the label in the metrics and the log.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Trap => "trap",
            FaultKind::Deadline => "deadline",
            FaultKind::Memory => "memory",
            FaultKind::Limit => "limit",
            FaultKind::Contract => "contract",
            FaultKind::Host => "host",
        }
    }
}

/// Counters by status class. A series appears with its first request.
type ByClass = [OnceLock<IntCounter>; 5];

pub struct GenerationMetrics {
    families: Arc<Families>,
    plugin: String,
    generation: String,
    operations: HashMap<String, ByClass>,
    no_operation: ByClass,
    seconds: [OnceLock<Histogram>; 5],
    in_flight: IntGauge,
    waiting: IntGauge,
    commits: IntCounter,
    reruns: IntCounter,
    cached_answers: IntCounter,
    _alive: InFlight,
}

impl GenerationMetrics {
    pub(super) fn new<'a>(
        families: Arc<Families>,
        plugin: &str,
        number: u64,
        operations: impl IntoIterator<Item = &'a str>,
    ) -> GenerationMetrics {
        let generation = number.to_string();
        let pair = [plugin, generation.as_str()];
        // An alert on faults requires a zero before the first fault.
        for kind in FaultKind::ALL {
            families.faults.with_label_values(&[plugin, &generation, kind.name()]);
        }
        GenerationMetrics {
            seconds: Default::default(),
            in_flight: families.in_flight.with_label_values(&pair),
            waiting: families.waiting.with_label_values(&pair),
            commits: families.commits.with_label_values(&pair),
            reruns: families.reruns.with_label_values(&pair),
            cached_answers: families.cached_answers.with_label_values(&pair),
            _alive: InFlight::new(&families.generations.with_label_values(&[plugin])),
            operations: operations.into_iter().map(|name| (name.to_owned(), ByClass::default())).collect(),
            no_operation: ByClass::default(),
            plugin: plugin.to_owned(),
            generation,
            families,
        }
    }

    /// Counts an answered request. An `operation` that is not in the manifest counts as "none".
    pub fn observe(&self, operation: Option<&str>, status: u16, seconds: f64) {
        let known = operation.and_then(|name| self.operations.get_key_value(name));
        let (name, classes) = known.map_or((NO_OPERATION, &self.no_operation), |(name, classes)| (name, classes));
        let class = usize::from((status / 100).clamp(1, 5) - 1);
        let (Some(counter), Some(times), Some(class)) =
            (classes.get(class), self.seconds.get(class), CLASSES.get(class))
        else {
            return;
        };
        counter.get_or_init(|| self.requests_counter(name, class)).inc();
        let labels = [self.plugin.as_str(), &self.generation, class];
        times.get_or_init(|| self.families.seconds.with_label_values(&labels)).observe(seconds);
    }

    pub fn count_fault(&self, kind: FaultKind) {
        self.families.faults.with_label_values(&[self.plugin.as_str(), &self.generation, kind.name()]).inc();
    }

    /// Counts a change set of this generation that became durable.
    pub fn count_commit(&self) {
        self.commits.inc();
    }

    /// Counts a run that was discarded, for example because another call committed first.
    pub fn count_rerun(&self) {
        self.reruns.inc();
    }

    /// Counts a request that was answered from the cache, without a run.
    pub fn count_cached_answer(&self) {
        self.cached_answers.inc();
    }

    /// Counts a call as in flight until the value is dropped.
    pub fn enter(&self) -> InFlight {
        InFlight::new(&self.in_flight)
    }

    /// Counts a call as waiting for a permit to run until the value is dropped.
    pub fn wait(&self) -> InFlight {
        InFlight::new(&self.waiting)
    }

    fn requests_counter(&self, operation: &str, class: &str) -> IntCounter {
        self.families.requests.with_label_values(&[self.plugin.as_str(), &self.generation, operation, class])
    }
}

impl Drop for GenerationMetrics {
    /// Removes the series of the generation. Removing a series that never existed fails, and that error is ignored.
    fn drop(&mut self) {
        let (plugin, generation) = (self.plugin.as_str(), self.generation.as_str());
        let pair = [plugin, generation];
        let _ = self.families.in_flight.remove_label_values(&pair);
        let _ = self.families.waiting.remove_label_values(&pair);
        let _ = self.families.commits.remove_label_values(&pair);
        let _ = self.families.reruns.remove_label_values(&pair);
        let _ = self.families.cached_answers.remove_label_values(&pair);
        for class in CLASSES {
            let _ = self.families.seconds.remove_label_values(&[plugin, generation, class]);
        }
        for kind in FaultKind::ALL {
            let _ = self.families.faults.remove_label_values(&[plugin, generation, kind.name()]);
        }
        for operation in self.operations.keys().map(String::as_str).chain([NO_OPERATION]) {
            for class in CLASSES {
                let _ = self.families.requests.remove_label_values(&[plugin, generation, operation, class]);
            }
        }
    }
}

/// Counts one call in a gauge until it is dropped.
pub struct InFlight(IntGauge);

impl InFlight {
    pub(super) fn new(gauge: &IntGauge) -> InFlight {
        gauge.inc();
        InFlight(gauge.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
