//! This process as the kernel reports it: memory, processor time, descriptors, threads. The names are those of the
//! Prometheus client libraries, without the prefix of the host.
//!
//! Read at each scrape, from `/proc` and by system calls. If a file of `/proc` cannot be read, its series keep their
//! previous values.

use std::fs;

use prometheus::{Counter, Gauge, IntGauge, Registry};
use rustix::{
    process::{Resource, getrlimit},
    time::{ClockId, clock_gettime},
};

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct ProcessMetrics {
    cpu: Counter,
    resident: IntGauge,
    virtual_memory: IntGauge,
    threads: IntGauge,
    open_fds: IntGauge,
    max_fds: IntGauge,
    start: Gauge,
}

impl ProcessMetrics {
    pub(super) fn register(registry: &Registry) -> Result<ProcessMetrics, prometheus::Error> {
        let gauge = |name: &str, help: &str| {
            let gauge = IntGauge::new(name, help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        let cpu = Counter::new("process_cpu_seconds_total", "Processor time of all threads, user and system.")?;
        let start = Gauge::new("process_start_time_seconds", "When the host began, in seconds since 1970.")?;
        registry.register(Box::new(cpu.clone()))?;
        registry.register(Box::new(start.clone()))?;
        Ok(ProcessMetrics {
            cpu,
            start,
            resident: gauge("process_resident_memory_bytes", "Resident memory.")?,
            virtual_memory: gauge("process_virtual_memory_bytes", "Virtual memory.")?,
            threads: gauge("process_threads", "Threads.")?,
            open_fds: gauge("process_open_fds", "Open file descriptors.")?,
            max_fds: gauge("process_max_fds", "File descriptors that may be open.")?,
        })
    }

    /// Updates all values. `started_at`: milliseconds since 1970.
    pub(super) fn read(&self, started_at: u64) {
        self.start.set(started_at as f64 / 1_000.0);
        let time = clock_gettime(ClockId::ProcessCPUTime);
        let seconds = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
        self.cpu.inc_by((seconds - self.cpu.get()).max(0.0));
        if let Ok(status) = fs::read_to_string("/proc/self/status") {
            for (gauge, name, unit) in [
                (&self.resident, "VmRSS:", 1_024),
                (&self.virtual_memory, "VmSize:", 1_024),
                (&self.threads, "Threads:", 1),
            ] {
                find_number(&status, name).into_iter().for_each(|number| gauge.set(number.saturating_mul(unit)));
            }
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            // The listing itself is open as well.
            self.open_fds.set(i64::try_from(open.count()).unwrap_or(i64::MAX).saturating_sub(1));
        }
        let max = getrlimit(Resource::Nofile).current;
        self.max_fds.set(max.map_or(i64::MAX, |max| i64::try_from(max).unwrap_or(i64::MAX)));
    }
}

/// Parses "VmRSS:     1234 kB" as 1234.
fn find_number(status: &str, name: &str) -> Option<i64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_status_file_are_found() {
        let status = "Name:\ttenon\nVmSize:\t  200 kB\nVmRSS:\t     100 kB\nThreads:\t7\n";
        assert_eq!(find_number(status, "VmRSS:"), Some(100));
        assert_eq!(find_number(status, "Threads:"), Some(7));
        assert_eq!(find_number(status, "VmSwap:"), None);
    }

    #[test]
    fn running_process_has_memory_threads_and_descriptors() {
        let metrics = ProcessMetrics::register(&Registry::new()).unwrap();
        metrics.read(1_500);
        assert!(metrics.resident.get() > 1 << 20, "{}", metrics.resident.get());
        assert!(metrics.virtual_memory.get() >= metrics.resident.get());
        assert!(metrics.threads.get() >= 1 && metrics.open_fds.get() >= 3 && metrics.max_fds.get() >= 3);
        assert!(metrics.cpu.get() > 0.0);
        assert_eq!(metrics.start.get(), 1.5);
    }
}
