//! The metrics of `/metrics`, in the text format of Prometheus.
//!
//! Owns every name and label. Labels are bounded, for example plugin, generation, operations of the manifest, status
//! classes, kinds of fault and outcomes. They never contain an id, an address or a tenant. The series of a generation
//! end with the generation, so that a thousand swaps leave no more series than two.
//!
//! - `compile`: compilations. `process`: this process. `database`: its files, and the batches of the committer.
//!   `delivery`: webhooks. `pool`: instances. `tasks`: timers and outgoing calls. `generation`: the handles that a call
//!   uses, resolved once for each generation. `memory`: the request budget, and connections.

mod compile;
mod database;
mod delivery;
mod generation;
mod memory;
mod pool;
mod process;
mod tasks;

use std::sync::Arc;

use database::DatabaseMetrics;
use process::ProcessMetrics;
use prometheus::{HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder};

pub use compile::{CompileMetrics, CompileOutcome};
pub use database::{BatchMetrics, CommitterReading, CommitterResets, DatabaseReading};
pub use delivery::DeliveryMetrics;
pub use generation::{FaultKind, GenerationMetrics, InFlight};
pub use memory::{ConnectionReading, MemoryMetrics};
pub use pool::{PoolMetrics, PoolReading};
pub use tasks::{TaskMetrics, TaskReading};

/// Buckets in seconds. A call takes tens of microseconds, a durable one milliseconds, the longest deadline a minute.
const LATENCY_SECONDS: [f64; 14] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// All metrics of the host. Cheap to clone.
#[derive(Clone)]
pub struct Metrics {
    registry: Registry,
    families: Arc<Families>,
    process: ProcessMetrics,
    database: DatabaseMetrics,
    certificate: IntGaugeVec,
    swaps: IntCounterVec,
    compile: CompileMetrics,
    dropped_log_lines: IntCounterVec,
    delivery: DeliveryMetrics,
    pool: PoolMetrics,
    tasks: TaskMetrics,
    memory: MemoryMetrics,
}

struct Families {
    requests: IntCounterVec,
    seconds: HistogramVec,
    faults: IntCounterVec,
    in_flight: IntGaugeVec,
    waiting: IntGaugeVec,
    commits: IntCounterVec,
    reruns: IntCounterVec,
    cached_answers: IntCounterVec,
    generations: IntGaugeVec,
}

/// Values that a scrape reads from the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostReading {
    pub committer: CommitterReading,
    pub database: DatabaseReading,
    /// Start time of the host, in milliseconds since 1970.
    pub started_at: u64,
    /// Expiry of the certificate of the interfaces, in seconds since 1970. `None` without TLS.
    pub certificate_expires_at: Option<u64>,
}

impl Metrics {
    /// Registers all metrics. Fails only if two metrics have the same name, which a test would detect.
    pub fn new() -> Result<Metrics, prometheus::Error> {
        let registry = Registry::new();
        let families = Families::register(&registry)?;
        let process = ProcessMetrics::register(&registry)?;
        let database = DatabaseMetrics::register(&registry)?;
        let certificate = IntGaugeVec::new(
            Opts::new(
                "tenon_tls_certificate_expiry_timestamp_seconds",
                "When the certificate of the interfaces' listener expires, in seconds since 1970.",
            ),
            &["listener"],
        )?;
        registry.register(Box::new(certificate.clone()))?;
        let swaps = IntCounterVec::new(
            Opts::new("tenon_swaps_total", "Attempted swaps, by outcome (published, refused, overtaken)."),
            &["plugin", "outcome"],
        )?;
        registry.register(Box::new(swaps.clone()))?;
        let dropped_log_lines = IntCounterVec::new(
            Opts::new("tenon_log_lines_dropped_total", "Log lines of plugins, and of their faults, over the limits."),
            &["plugin"],
        )?;
        registry.register(Box::new(dropped_log_lines.clone()))?;
        let info =
            IntGaugeVec::new(Opts::new("tenon_info", "Always 1. The label is the version of the host."), &["version"])?;
        info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        registry.register(Box::new(info))?;
        let compile = CompileMetrics::register(&registry)?;
        let delivery = DeliveryMetrics::register(&registry)?;
        let pool = PoolMetrics::register(&registry)?;
        let tasks = TaskMetrics::register(&registry)?;
        let memory = MemoryMetrics::register(&registry)?;
        let families = Arc::new(families);
        Ok(Metrics {
            registry,
            families,
            process,
            database,
            certificate,
            swaps,
            compile,
            dropped_log_lines,
            delivery,
            pool,
            tasks,
            memory,
        })
    }

    pub fn compile(&self) -> CompileMetrics {
        self.compile.clone()
    }

    pub fn delivery(&self) -> DeliveryMetrics {
        self.delivery.clone()
    }

    pub fn pool(&self) -> PoolMetrics {
        self.pool.clone()
    }

    pub fn tasks(&self) -> TaskMetrics {
        self.tasks.clone()
    }

    pub fn memory(&self) -> &MemoryMetrics {
        &self.memory
    }

    /// Returns the handles of one generation. Their series are removed when the value is dropped.
    pub fn generation<'a>(
        &self,
        plugin: &str,
        number: u64,
        operations: impl IntoIterator<Item = &'a str>,
    ) -> GenerationMetrics {
        GenerationMetrics::new(Arc::clone(&self.families), plugin, number, operations)
    }

    /// Counts a swap. `plugin` must be a name from plugins.toml, never one that a caller chose.
    pub fn count_swap(&self, plugin: &str, outcome: SwapOutcome) {
        self.swaps.with_label_values(&[plugin, outcome.name()]).inc();
    }

    /// Returns the metrics that the committer observes for each batch.
    pub fn batches(&self) -> BatchMetrics {
        self.database.batch.clone()
    }

    /// Returns the counter of dropped log lines of a plugin, which must be a name from plugins.toml.
    pub fn dropped_log_lines(&self, plugin: &str) -> IntCounter {
        self.dropped_log_lines.with_label_values(&[plugin])
    }

    /// Renders the text for a scrape.
    pub fn render(&self, host: HostReading) -> Result<String, prometheus::Error> {
        self.process.read(host.started_at);
        self.pool.update();
        self.database.update(host.committer, host.database);
        if let Some(expires_at) = host.certificate_expires_at {
            self.certificate.with_label_values(&["interfaces"]).set(i64::try_from(expires_at).unwrap_or(i64::MAX));
        }
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapOutcome {
    Published,
    Refused,
    Overtaken,
}

impl SwapOutcome {
    fn name(self) -> &'static str {
        match self {
            SwapOutcome::Published => "published",
            SwapOutcome::Refused => "refused",
            SwapOutcome::Overtaken => "overtaken",
        }
    }
}

impl Families {
    fn register(registry: &Registry) -> Result<Families, prometheus::Error> {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            let family = IntCounterVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(family.clone()))?;
            Ok::<_, prometheus::Error>(family)
        };
        let gauge = |name: &str, help: &str, labels: &[&str]| {
            let family = IntGaugeVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(family.clone()))?;
            Ok::<_, prometheus::Error>(family)
        };
        let pair = ["plugin", "generation"];
        let with_class = ["plugin", "generation", "class"];
        let seconds = HistogramVec::new(
            HistogramOpts::new(
                "tenon_request_seconds",
                "From the head of a request to the head of its answer, by class of status.",
            )
            .buckets(LATENCY_SECONDS.to_vec()),
            &with_class,
        )?;
        registry.register(Box::new(seconds.clone()))?;
        Ok(Families {
            requests: counter(
                "tenon_requests_total",
                "Requests answered, by operation and class of status (2xx, 4xx, ...).",
                &["plugin", "generation", "operation", "class"],
            )?,
            seconds,
            faults: counter(
                "tenon_faults_total",
                "Calls that failed: the plugin trapped or exceeded a limit, or the host failed.",
                &["plugin", "generation", "kind"],
            )?,
            in_flight: gauge("tenon_calls_in_flight", "Calls that run or wait for a permit.", &pair)?,
            waiting: gauge(
                "tenon_calls_waiting",
                "Calls that wait because the plugin is at its limit of running calls.",
                &pair,
            )?,
            commits: counter("tenon_commits_total", "Change sets of calls that became durable.", &pair)?,
            reruns: counter(
                "tenon_reruns_total",
                "Runs discarded because another call committed first, or for a reply, a password, or more memory.",
                &pair,
            )?,
            cached_answers: counter(
                "tenon_cached_answers_total",
                "Requests answered from the cache, because what an equal request read is unchanged.",
                &pair,
            )?,
            generations: gauge("tenon_generations", "Generations in memory.", &["plugin"])?,
        })
    }
}

#[cfg(test)]
mod tests;
