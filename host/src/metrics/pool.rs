//! The pool of instances: active instances, and the memory that idle slots keep. Read at each scrape.

use std::sync::{Arc, OnceLock};

use prometheus::{IntGauge, Registry};

/// Current use of the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolReading {
    pub instances: u64,
    /// Slots without an instance that keep memory of the previous one.
    pub warm_slots: u64,
    pub warm_bytes: u64,
}

pub type ReadPool = Box<dyn Fn() -> PoolReading + Send + Sync>;

/// Cheap to clone.
#[derive(Clone)]
pub struct PoolMetrics {
    instances: IntGauge,
    warm_slots: IntGauge,
    warm_bytes: IntGauge,
    read: Arc<OnceLock<ReadPool>>,
}

impl PoolMetrics {
    pub(super) fn register(registry: &Registry) -> Result<PoolMetrics, prometheus::Error> {
        let gauge = |name: &str, help: &str| {
            let gauge = IntGauge::new(name, help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        Ok(PoolMetrics {
            instances: gauge("tenon_pool_instances", "Instances in the pool that serve a call now.")?,
            warm_slots: gauge("tenon_pool_warm_slots", "Slots of the pool that keep memory of an earlier call.")?,
            warm_bytes: gauge("tenon_pool_warm_bytes", "Memory that those slots keep.")?,
            read: Arc::default(),
        })
    }

    /// Sets the function that reads the pool. Later calls have no effect.
    pub fn set_source(&self, read: ReadPool) {
        let _second = self.read.set(read);
    }

    pub(super) fn update(&self) {
        let Some(read) = self.read.get() else { return };
        let PoolReading { instances, warm_slots, warm_bytes } = read();
        for (gauge, value) in
            [(&self.instances, instances), (&self.warm_slots, warm_slots), (&self.warm_bytes, warm_bytes)]
        {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }
}
