//! Webhooks: endpoints, deliveries, and the engine that makes them.

// Endpoints.

/// Endpoints of one tenant. Each event is compared with all of them while it is written.
pub const ENDPOINTS_MAX: u32 = 1_000;
/// Bytes of all endpoints of one tenant: a call may hold the whole list. Less than [`FIND_BYTES_MAX`](super::FIND_BYTES_MAX).
pub const ENDPOINTS_BYTES_MAX: usize = 4 << 20;
/// Bytes of memory that a list of endpoints takes for each byte that is stored of them, while a call gets it: names of one letter
/// take the most.
pub const ENDPOINT_PARSED_FACTOR: usize = 12;
/// Event types, and subjects, that one endpoint names.
pub const ENDPOINT_FILTER_MAX: usize = 256;
/// Signatures of an endpoint besides the one of Standard Webhooks.
pub const ENDPOINT_SIGNATURES_MAX: usize = 4;
/// What a plugin keeps with an endpoint.
pub const ENDPOINT_NOTE_BYTES_MAX: usize = 16 << 10;
/// How long the secret before a rotation still signs: a day, as receivers expect.
pub const SECRET_OVERLAP_MS: u64 = 24 * 60 * 60 * 1_000;
/// That no API key signs for an endpoint is a line in the log; not more often than this, though it is true of each attempt.
pub const UNSIGNED_TOLD_MS: u64 = 60_000;
/// Deliveries of one page.
pub const DELIVERIES_LISTED_MAX: u32 = 100;
/// Delays of one schedule.
pub const WEBHOOK_DELAYS_MAX: usize = 32;
/// The longest of them: a week.
pub const WEBHOOK_DELAY_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;
/// Tenants whose endpoints the writer remembers before it asks anew.
pub const SUBSCRIPTIONS_CACHED: usize = 10_000;
/// Deliveries that one batch makes for one tenant: an event for as many endpoints as a tenant may have. The others are made
/// after the batch.
pub const BATCH_DELIVERIES_EACH: usize = 1_024;
/// The same for all tenants together: some 20 ms.
pub const BATCH_DELIVERIES_MAX: usize = 4_096;
/// Given-up deliveries that one batch examines to make them again, for all tenants together. Later transactions examine the others,
/// as many in one as deliveries are made in one.
pub const BATCH_RECOVERED_MAX: usize = 512;
/// Commands of one call to make deliveries again: one for each endpoint of a tenant.
pub const DELIVERY_COMMANDS_MAX: usize = 1_000;
/// Deliveries that are made in one transaction after their batch, at most.
pub const FAN_OUT_DELIVERIES_MAX: usize = 1_024;
/// Pause before deliveries that could not be made are tried again.
pub const FAN_OUT_PAUSE_MS: u64 = 1_000;
/// Batches of news that who follows them may lag behind before it has to look into the database.
pub const NEWS_KEPT: usize = 64;
/// How long such a transaction may take, in microseconds: nothing else is written meanwhile. Those that take longer are made smaller.
pub const FAN_OUT_PART_US: u128 = 5_000;
/// Deliveries that are made in one transaction however long it takes.
pub const FAN_OUT_DELIVERIES_MIN: usize = 128;
/// The pause after such a transaction, in times of what it took: a quarter of the time of the disk is theirs.
pub const FAN_OUT_RESTS: u32 = 3;

// Deliveries.

/// Delays between the attempts of one delivery where a plugin's settings name none: 5, 10, 20, 40 and 80 minutes, so that
/// the sixth and last attempt is two and a half hours after the first.
pub const RETRY_DELAYS_MS: [u64; 5] = [300_000, 600_000, 1_200_000, 2_400_000, 4_800_000];
/// The most that jitter adds to a delay, in percent: enough that what failed together does not come back together.
pub const RETRY_JITTER_PERCENT: u64 = 10;
/// The longest pause that an endpoint may ask for (Retry-After): a day, after which it had better be disabled.
pub const RETRY_AFTER_MS_MAX: u64 = 86_400_000;
/// First attempts under way at once, of all endpoints: with a timeout of ten seconds a dead endpoint holds 3 % of them.
pub const FIRST_IN_FLIGHT_MAX: usize = 512;
/// Retries under way at once. Slots of their own, so that old trouble never delays what is new.
pub const RETRIES_IN_FLIGHT_MAX: usize = 128;
/// First attempts of one tenant under way at once: a quarter.
pub const TENANT_FIRST_IN_FLIGHT_MAX: usize = 128;
/// Retries of one tenant under way at once: a quarter.
pub const TENANT_RETRIES_IN_FLIGHT_MAX: usize = 32;
/// First attempts of one endpoint under way at once, where its settings say nothing.
pub const LANE_FIRST_IN_FLIGHT_MAX: usize = 16;
/// Retries of one endpoint under way at once, where its settings say nothing.
pub const LANE_RETRIES_IN_FLIGHT_MAX: usize = 4;
/// Deliveries of all endpoints in memory: some 16 MB. The others wait in the database.
pub const DELIVERIES_HELD_MAX: usize = 200_000;
/// Fresh deliveries of one endpoint in memory, and as many that wait for a retry: a fifth of a second at full load.
pub const LANE_DELIVERIES_HELD_MAX: usize = 1_000;
/// The same where memory is full: whatever others hold, an endpoint goes on with so many at a time.
pub const LANE_DELIVERIES_HELD_MIN: usize = 32;
/// Retries due later than this from now stay in the database; a lane asks for them when half of it is left.
pub const RETRY_HORIZON_MS: u64 = 120_000;
/// How long after rows could not be read they are asked for again.
pub const DELIVERY_LOAD_PAUSE_MS: u64 = 1_000;
/// Rows of so many lanes are read before notifications and outcomes are processed again.
pub const DELIVERY_LOADS_AT_ONCE_MAX: usize = 32;
/// Milliseconds between two times that an engine which missed notifications catches up with the database.
pub const CATCH_UP_PAUSE_MS: u64 = 100;
/// How long a lane rests after an attempt that our own trouble prevented.
pub const NOT_MADE_PAUSE_MS: u64 = 1_000;
/// Failures in a row that open the breaker of a lane: fewer are bad luck.
pub const BREAKER_FAILURES: u32 = 5;
/// The first pause of a breaker that has opened. It doubles with every failure.
pub const BREAKER_PAUSE_MS_MIN: u64 = 1_000;
/// The longest pause of a breaker: an endpoint that is back is noticed within half a minute.
pub const BREAKER_PAUSE_MS_MAX: u64 = 30_000;
/// How long an endpoint may do nothing but fail before it is disabled, where its settings say nothing: five days, longer
/// than a weekend with holidays around it.
pub const DISABLE_AFTER_MS: u64 = 432_000_000;

// The engine of deliveries.

/// Bodies kept in memory for their first attempt; others are read from the database when they are sent.
pub const DELIVERY_BODIES_BYTES_MAX: usize = 32 << 20;
/// How long after its commit a body is kept there: those that wait longer wait for an endpoint that is paused or slow.
pub const DELIVERY_BODY_KEPT_MS: u64 = 5_000;
/// Deliveries and calls between hosts that one request may follow from. Three endpoints that lead back to their own cause make some
/// ten thousand deliveries within it; conversations between two systems need three or four.
pub const HOPS_MAX: u8 = 8;
/// Bytes of an answer that are kept with the attempt: enough for a message of an error.
pub const ATTEMPT_ANSWER_BYTES_MAX: usize = 1_024;
/// Outcomes written in one transaction.
pub const ATTEMPTS_RECORDED_MAX: usize = 512;
/// Outcomes that wait to be written; more, and nothing is started until the database has caught up.
pub const ATTEMPTS_WAITING_MAX: usize = 4_096;
/// Pause after outcomes were written, while others collect. A process that dies makes the attempts of this time again.
pub const RECORD_COLLECT_MS: u64 = 50;
/// Pause before outcomes that could not be written are tried again.
pub const RECORD_PAUSE_MS: u64 = 500;
/// Ends of attempts that are taken in before anything is started.
pub const ENDED_AT_ONCE_MAX: usize = 256;
/// How long an operator's look at the endpoints waits for what only the running scheduler knows.
pub const LANE_VIEWS_WAIT_MS: u64 = 5_000;
/// How often it is looked whether plugins.toml says something else about webhooks, and for connections that nobody uses.
pub const POLICY_LOOK_MS: u64 = 5_000;
