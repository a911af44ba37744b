//! The memory that all limits together allow, compared with the memory of the machine, and the default number of
//! connections.

use super::Config;
use crate::budget::MemoryConfig;
use crate::limits::{
    ADMIN_COMPONENT_BYTES_MAX, ANSWER_CACHE_BYTES_MAX, BODIES_PERCENT, BODY_COPIES, COMMIT_QUEUE_BYTES_MAX,
    CONNECTION_BYTES, CONNECTIONS_DEFAULT_MAX, CONNECTIONS_DEFAULT_MIN, CONNECTIONS_PERCENT, DB_READERS, DB_SEARCHERS,
    DELIVERY_BODIES_BYTES_MAX, FILES_OF_CONNECTIONS_PERCENT, FILES_OF_HOST, HTTP2_CONNECTION_WINDOW_BYTES,
    HTTP2_FULL_WINDOWS, HTTP2_REQUEST_BYTES, HTTP2_SMALL_BODY_BYTES, HTTP2_SMALL_HEAD_BYTES, HTTP2_SMALL_REQUESTS,
    LARGE_CHANGES_BYTES_MAX, MEMORY_RESIDENT_BYTES, OVERLAY_BYTES_MAX, OVERLAY_PINNED_BYTES_MAX, POOL_CALLS_MAX,
    POOL_CALLS_MIN, PROCESS_BYTES, PROFILE_BYTES_MAX, READER_CACHE_KIB, STACK_RESIDENT_BYTES, TABLE_RESIDENT_BYTES,
    WRITER_CACHE_KIB,
};

/// Every part of the host that may grow, at its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub parts: Vec<(&'static str, u64)>,
    /// `None` if unknown.
    pub machine_bytes: Option<u64>,
}

impl Plan {
    pub fn of(config: &Config, machine_bytes: Option<u64>) -> Plan {
        let calls: usize = config.plugins.values().map(|plugin| plugin.limits.calls).sum();
        let slots = calls.saturating_mul(2).clamp(POOL_CALLS_MIN, POOL_CALLS_MAX);
        let slot_bytes = MEMORY_RESIDENT_BYTES + TABLE_RESIDENT_BYTES + STACK_RESIDENT_BYTES;
        let connections = u64::from(DB_READERS) + DB_SEARCHERS as u64;
        let caches = u64::from(WRITER_CACHE_KIB) + connections * READER_CACHE_KIB;
        let busy = HTTP2_FULL_WINDOWS.min(config.http.connections_max as u64);
        let small_request_bytes = HTTP2_REQUEST_BYTES + HTTP2_SMALL_HEAD_BYTES + HTTP2_SMALL_BODY_BYTES * BODY_COPIES;
        let busy_bytes = u64::from(HTTP2_CONNECTION_WINDOW_BYTES) + HTTP2_SMALL_REQUESTS as u64 * small_request_bytes;
        let compilations = (config.compile.concurrent as u64).saturating_mul(config.compile.memory_bytes);
        let parts = vec![
            ("requests (memory-budget-bytes)", config.memory.budget_bytes),
            ("slots of the pool (limits.calls of all plugins)", (slots * slot_bytes) as u64),
            ("connections (http.connections-max)", config.http.connections_max as u64 * CONNECTION_BYTES),
            ("windows and small requests of HTTP/2 (of busy connections)", busy * busy_bytes),
            ("compilations (compile.concurrent times compile.memory-bytes)", compilations),
            ("components that operators send", ADMIN_COMPONENT_BYTES_MAX as u64),
            ("cache of answers", ANSWER_CACHE_BYTES_MAX as u64),
            ("cache of records", (OVERLAY_PINNED_BYTES_MAX + OVERLAY_BYTES_MAX) as u64),
            ("changes that wait for the disk", (COMMIT_QUEUE_BYTES_MAX + LARGE_CHANGES_BYTES_MAX) as u64),
            ("caches of the database", caches * 1_024),
            ("bodies of webhooks", DELIVERY_BODIES_BYTES_MAX as u64),
            ("a profile of a plugin", PROFILE_BYTES_MAX),
            ("program and compiled plugins", PROCESS_BYTES),
        ];
        Plan { parts, machine_bytes }
    }

    pub fn sum(&self) -> u64 {
        self.parts.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// Returns a warning if the limits exceed the memory of the machine.
    fn warning(&self) -> Option<String> {
        let machine = self.machine_bytes.filter(|machine| self.sum() > *machine)?;
        Some(format!(
            "all limits together allow {} MiB, and there are {} MiB of memory: lower `memory-budget-bytes`, \
             `http.connections-max`, `limits.calls` or `compile.concurrent`, or give the host more memory",
            self.sum() >> 20,
            machine >> 20
        ))
    }

    /// Returns all warnings about memory: the limits exceed the machine, or the largest request body does not fit into
    /// the share of a tenant.
    pub fn warnings(&self, config: &Config) -> Vec<String> {
        self.warning().into_iter().chain(compare_body(config.http.body_bytes_max, &config.memory)).collect()
    }

    /// Renders one line for each part, and the total.
    pub fn render(&self) -> String {
        let mut text = String::from("  memory, every part at its limit:\n");
        let total = [("together", self.sum())];
        let machine = self.machine_bytes.map(|bytes| ("there are", bytes));
        for (name, bytes) in self.parts.iter().copied().chain(total).chain(machine) {
            text.push_str(&format!("    {:>8} MiB  {name}\n", bytes >> 20));
        }
        text
    }
}

/// Returns the default number of connections: as many as fit into their share of the memory.
pub fn default_connections(machine_bytes: Option<u64>) -> u64 {
    let room = machine_bytes.map(|bytes| bytes / 100 * CONNECTIONS_PERCENT / CONNECTION_BYTES);
    room.map_or(CONNECTIONS_DEFAULT_MAX, |room| room.clamp(CONNECTIONS_DEFAULT_MIN, CONNECTIONS_DEFAULT_MAX))
}

/// Returns the number of connections that fit within a limit of open files.
pub fn connections_within(files: u64) -> u64 {
    let others = files.saturating_sub(FILES_OF_HOST);
    (others.saturating_mul(FILES_OF_CONNECTIONS_PERCENT) / 100).max(1)
}

/// Returns the smallest limit of open files that allows this number of connections.
pub fn files_for(connections: u64) -> u64 {
    connections.saturating_mul(100).div_ceil(FILES_OF_CONNECTIONS_PERCENT).saturating_add(FILES_OF_HOST)
}

fn compare_body(body: u64, memory: &MemoryConfig) -> Option<String> {
    let bodies = memory.budget_bytes / 100 * BODIES_PERCENT;
    let share = bodies / 100 * memory.tenant_percent;
    let (capacity, available, consequence) = match body.saturating_mul(BODY_COPIES) {
        needed if needed > bodies => ("has", bodies, "are rejected with 503"),
        needed if needed > share => ("gives a tenant", share, "wait for other bodies of the tenant, and may get 503"),
        _ => return None,
    };
    Some(format!(
        "`http.body-bytes-max` allows {body} bytes, and `memory-budget-bytes` {capacity} room for bodies of {} bytes: larger \
         ones {consequence}",
        available / BODY_COPIES
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_is_compared_with_all_memory_for_bodies_and_with_the_share_of_a_tenant() {
        let memory = MemoryConfig { budget_bytes: 1_600, tenant_percent: 50 };
        assert_eq!(compare_body(100, &memory), None);
        assert!(compare_body(101, &memory).unwrap().contains("bodies of 100 bytes: larger ones wait"));
        assert!(compare_body(200, &memory).unwrap().contains("wait"));
        assert!(compare_body(201, &memory).unwrap().contains("bodies of 200 bytes: larger ones are rejected with 503"));
    }

    #[test]
    fn connections_follow_from_the_memory_of_the_machine() {
        assert_eq!(default_connections(None), 10_000);
        assert_eq!(default_connections(Some(64 << 30)), 10_000);
        assert_eq!(default_connections(Some(64 << 20)), 500);
        let middle = default_connections(Some(1 << 30));
        assert!(middle * CONNECTION_BYTES <= (1 << 30) / 8 && middle > 2_000, "{middle}");
    }

    #[test]
    fn connections_leave_open_files_to_the_rest_of_the_host() {
        assert_eq!(connections_within(100), 27);
        assert_eq!(connections_within(1_024), 720);
        assert_eq!(connections_within(0), 1);
        for connections in [27, 500, 10_000] {
            let files = files_for(connections);
            assert_eq!(connections_within(files), connections);
            assert!(connections_within(files - 1) < connections, "{files}");
        }
    }

    #[test]
    fn limits_that_exceed_the_machine_are_reported_with_their_sum() {
        let plan = Plan { parts: vec![("a", 600 << 20), ("b", 500 << 20)], machine_bytes: Some(1 << 30) };
        let warning = plan.warning().unwrap();
        assert!(warning.contains("1100 MiB") && warning.contains("1024 MiB"), "{warning}");
        assert_eq!(Plan { machine_bytes: Some(2 << 30), ..plan.clone() }.warning(), None);
        assert_eq!(Plan { machine_bytes: None, ..plan }.warning(), None);
    }
}
