//! Limits of webhooks: endpoints, deliveries, and the delivery engine.

// Endpoints.

/// Endpoints of one tenant. Each event is matched against all of them while it is written.
pub const ENDPOINTS_MAX: u32 = 1_000;
/// Bytes of all endpoints of one tenant, since a call may hold the whole list. Less than
/// [`FIND_BYTES_MAX`](super::FIND_BYTES_MAX).
pub const ENDPOINTS_BYTES_MAX: usize = 4 << 20;
/// Bytes of memory that a list of endpoints takes for each of its stored bytes while a call receives it. Names of one
/// letter take the most.
pub const ENDPOINT_PARSED_FACTOR: usize = 12;
/// Event types, and subjects, that one endpoint may name.
pub const ENDPOINT_FILTER_MAX: usize = 256;
/// Signatures of an endpoint besides that of Standard Webhooks.
pub const ENDPOINT_SIGNATURES_MAX: usize = 4;
/// Bytes that a plugin stores with an endpoint.
pub const ENDPOINT_NOTE_BYTES_MAX: usize = 16 << 10;
/// How long the previous secret still signs after a rotation: a day, as receivers expect.
pub const SECRET_OVERLAP_MS: u64 = 24 * 60 * 60 * 1_000;
/// Minimum interval between two log lines about an endpoint without the API key that signs for it. Each attempt would
/// cause a line.
pub const UNSIGNED_LOG_INTERVAL_MS: u64 = 60_000;
/// Deliveries of one page.
pub const DELIVERIES_LISTED_MAX: u32 = 100;
/// Delays of one schedule.
pub const WEBHOOK_DELAYS_MAX: usize = 32;
/// The longest delay of a schedule: a week.
pub const WEBHOOK_DELAY_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;
/// Tenants whose endpoints the writer caches.
pub const SUBSCRIPTIONS_CACHED: usize = 10_000;
/// Deliveries that one batch creates for one tenant: an event for as many endpoints as a tenant may have. The others
/// are created after the batch.
pub const BATCH_DELIVERIES_EACH: usize = 1_024;
/// The same for all tenants together: some 20 ms.
pub const BATCH_DELIVERIES_MAX: usize = 4_096;
/// Given-up deliveries that one batch examines to create them again, for all tenants together. Later transactions
/// examine the others, with the same limit as transactions that create deliveries.
pub const BATCH_RECOVERED_MAX: usize = 512;
/// Commands of one call to create deliveries again: one for each endpoint of a tenant.
pub const DELIVERY_COMMANDS_MAX: usize = 1_000;
/// Maximum number of deliveries that are created in one transaction after their batch.
pub const FAN_OUT_DELIVERIES_MAX: usize = 1_024;
/// Pause before deliveries that could not be created are tried again.
pub const FAN_OUT_PAUSE_MS: u64 = 1_000;
/// Commit notifications that a subscriber may lag behind before it must read the database.
pub const COMMIT_NOTIFICATIONS_MAX: usize = 64;
/// Target duration of a transaction that creates deliveries after their batch, in microseconds, since nothing else is
/// written meanwhile. After a longer one, the next transaction is smaller.
pub const FAN_OUT_PART_US: u128 = 5_000;
/// Deliveries that are created in one transaction regardless of its duration.
pub const FAN_OUT_DELIVERIES_MIN: usize = 128;
/// Pause after a transaction that creates deliveries, as a multiple of its duration: fan-out gets a quarter of the disk
/// time.
pub const FAN_OUT_PAUSE_FACTOR: u32 = 3;

// Deliveries.

/// Delays between the attempts of one delivery if the settings of the plugin define none: 5, 10, 20, 40 and 80 minutes,
/// so that the sixth and last attempt is two and a half hours after the first.
pub const RETRY_DELAYS_MS: [u64; 5] = [300_000, 600_000, 1_200_000, 2_400_000, 4_800_000];
/// Maximum jitter of a delay, in percent: enough to spread deliveries that failed together.
pub const RETRY_JITTER_PERCENT: u64 = 10;
/// The longest pause that an endpoint may request (Retry-After): a day. An endpoint that needs more should be disabled.
pub const RETRY_AFTER_MS_MAX: u64 = 86_400_000;
/// Concurrent first attempts of all endpoints. With a timeout of ten seconds a dead endpoint holds 3 % of this number.
pub const FIRST_IN_FLIGHT_MAX: usize = 512;
/// Concurrent retries. They have slots of their own, so that old failures never delay new deliveries.
pub const RETRIES_IN_FLIGHT_MAX: usize = 128;
/// Concurrent first attempts of one tenant: a quarter.
pub const TENANT_FIRST_IN_FLIGHT_MAX: usize = 128;
/// Concurrent retries of one tenant: a quarter.
pub const TENANT_RETRIES_IN_FLIGHT_MAX: usize = 32;
/// Concurrent first attempts of one endpoint, if its settings define none.
pub const QUEUE_FIRST_IN_FLIGHT_MAX: usize = 16;
/// Concurrent retries of one endpoint, if its settings define none.
pub const QUEUE_RETRIES_IN_FLIGHT_MAX: usize = 4;
/// Deliveries of all endpoints in memory: some 16 MB. The others wait in the database.
pub const DELIVERIES_HELD_MAX: usize = 200_000;
/// New deliveries of one endpoint in memory, and as many that wait for a retry: a fifth of a second at full load.
pub const QUEUE_DELIVERIES_HELD_MAX: usize = 1_000;
/// The same if memory is full: regardless of others, an endpoint may hold this many at a time.
pub const QUEUE_DELIVERIES_HELD_MIN: usize = 32;
/// Retries that are due later than this stay in the database. An endpoint queue reads them when half of this time is
/// left.
pub const RETRY_HORIZON_MS: u64 = 120_000;
/// Pause before rows that could not be read are requested again.
pub const DELIVERY_LOAD_PAUSE_MS: u64 = 1_000;
/// Endpoint queues whose rows are read before notifications and outcomes are processed again.
pub const DELIVERY_LOADS_AT_ONCE_MAX: usize = 32;
/// Milliseconds between two reads of the database by an engine that missed notifications.
pub const CATCH_UP_PAUSE_MS: u64 = 100;
/// Pause of an endpoint queue after an attempt that a failure of the host prevented.
pub const NOT_MADE_PAUSE_MS: u64 = 1_000;
/// Consecutive failures that open the circuit breaker of an endpoint queue. Fewer may be chance.
pub const BREAKER_FAILURES: u32 = 5;
/// The first pause of an open circuit breaker. It doubles with every failure.
pub const BREAKER_PAUSE_MS_MIN: u64 = 1_000;
/// The longest pause of a circuit breaker: a recovered endpoint is detected within half a minute.
pub const BREAKER_PAUSE_MS_MAX: u64 = 30_000;
/// How long an endpoint may fail continuously before it is disabled, if its settings define nothing: five days, longer
/// than a weekend with holidays around it.
pub const DISABLE_AFTER_MS: u64 = 432_000_000;

// The engine of deliveries.

/// Bodies kept in memory for their first attempt. Others are read from the database when they are sent.
pub const DELIVERY_BODIES_BYTES_MAX: usize = 32 << 20;
/// How long after its commit a body is kept in memory. Deliveries that wait longer wait for an endpoint that is paused
/// or slow.
pub const DELIVERY_BODY_KEPT_MS: u64 = 5_000;
/// Deliveries and calls between hosts that may precede a request. Three endpoints that form a loop cause some ten
/// thousand deliveries within it. Exchanges between two systems need three or four.
pub const HOPS_MAX: u8 = 8;
/// Bytes of a response that are kept with the attempt: enough for an error message.
pub const ATTEMPT_RESPONSE_BYTES_MAX: usize = 1_024;
/// Outcomes written in one transaction.
pub const ATTEMPTS_RECORDED_MAX: usize = 512;
/// Outcomes that wait to be written. With more, no attempt starts until the database has caught up.
pub const ATTEMPTS_WAITING_MAX: usize = 4_096;
/// Pause after outcomes were written, while others accumulate. After a crash the attempts of this time are repeated.
pub const RECORD_COLLECT_MS: u64 = 50;
/// Pause before outcomes that could not be written are tried again.
pub const RECORD_PAUSE_MS: u64 = 500;
/// Ended attempts that are processed before another attempt is started.
pub const ENDED_AT_ONCE_MAX: usize = 256;
/// How long an operator's request for endpoints waits for the state of the running scheduler.
pub const QUEUE_VIEWS_WAIT_MS: u64 = 5_000;
/// Interval between two checks for changed webhook settings in plugins.toml, for old bodies, and for idle connections.
pub const POLICY_POLL_MS: u64 = 5_000;
