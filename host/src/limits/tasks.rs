//! Limits of tasks, effects, and questions.

/// Bytes of the key of a task or effect. Together with the name it is the id of a record.
pub const TASK_KEY_BYTES_MAX: usize = 128;
/// The latest due time of a task, in the year 10889. It stands for "never".
pub const TASK_DUE_MAX: u64 = 1 << 48;
/// Bytes of a payload, or of the context of an effect.
pub const TASK_PAYLOAD_BYTES_MAX: usize = 64 << 10;
/// Bytes of the body of an outgoing call. It is stored in a record, where a string may become twice as long.
pub const OUTGOING_BODY_BYTES_MAX: usize = 128 << 10;
/// Bytes of the body of a response that an effect keeps for its task. A longer one ends the effect
/// without another attempt.
pub const EFFECT_RESPONSE_BYTES_MAX: usize = 128 << 10;
/// Delays between the attempts of one effect.
pub const EFFECT_DELAYS_MAX: usize = 32;
/// Delays between runs of a task that ended in a fault, if the settings of the plugin define none: eight delays, nine
/// runs, almost four hours.
pub const TASK_DELAYS_MS: [u64; 8] = [1_000, 5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, 7_200_000];
/// Delays that an operator may configure, and the longest delay: a week.
pub const TASK_DELAYS_MAX: usize = 32;
pub const TASK_DELAY_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;
/// Bytes of a fault that are kept for operators.
pub const TASK_FAULT_BYTES_MAX: usize = 1_024;
/// Pause before the next attempt of a task that could not run for a reason outside of it: no permit, no plugin, no
/// disk.
pub const TASK_PAUSE_MS: u64 = 1_000;
/// How long an ending process waits for threads that are blocked in the system.
pub const THREADS_STOP_MS: u64 = 1_000;
/// How long a shutdown waits for active tasks and outgoing calls.
pub const TASKS_STOP_MS: u64 = 5_000;
/// Concurrent database queries for due tasks. Read connections are for requests first.
pub const TASK_QUERIES_MAX: usize = 2;
/// Concurrent runs of tasks of one plugin: half of the default permits, which tasks share with requests.
pub const TASKS_RUNNING_MAX: usize = 32;
/// The same for one plugin and tenant.
pub const TENANT_TASKS_RUNNING_MAX: usize = 16;
/// Active tasks of one plugin and tenant, including tasks that wait for replies: the limit of concurrent questions plus
/// the limit of concurrent runs.
pub const TENANT_TASKS_ACTIVE_MAX: usize = TENANT_QUESTIONS_RUNNING_MAX + TENANT_TASKS_RUNNING_MAX;
/// Records that commits report to one task queue while it is busy. The rest is read from the database.
pub const TASKS_REPORTED_MAX: usize = 256;
/// The longest attempt of an effect, regardless of its destination.
pub const EFFECT_ATTEMPT_MS_MAX: u64 = 120_000;
/// Concurrent outgoing calls of effects: the first to each destination of each plugin and tenant, and all others.
pub const FIRST_EFFECTS_RUNNING_MAX: usize = 1_024;
pub const FURTHER_EFFECTS_RUNNING_MAX: usize = 1_024;
/// The same for one plugin and tenant: an eighth. Then calls to one destination: a blocked destination holds a quarter
/// of the calls of its tenant.
pub const TENANT_FIRST_EFFECTS_RUNNING_MAX: usize = 128;
pub const TENANT_FURTHER_EFFECTS_RUNNING_MAX: usize = 128;
pub const DESTINATION_EFFECTS_RUNNING_MAX: usize = 32;
/// Tenants with slots of their own in memory before idle ones are removed.
pub const TENANT_SLOTS_KEPT: usize = 1_024;
/// Concurrent questions of all tenants, concurrent questions of one plugin and tenant, and its waiting questions.
pub const QUESTIONS_RUNNING_MAX: usize = 1_024;
pub const TENANT_QUESTIONS_RUNNING_MAX: usize = 64;
pub const TENANT_QUESTIONS_WAITING_MAX: usize = 4_096;
/// Bytes of all replies that one call has received.
pub const QUESTION_REPLIES_BYTES_MAX: usize = 4 << 20;
/// Questions of one call, and rounds in which it may send them.
pub const QUESTIONS_MAX: usize = 16;
pub const QUESTION_ROUNDS_MAX: u32 = 4;
/// Tasks with the same id that the error lists if an operator names no tenant.
pub const TASKS_NAMED_MAX: u32 = 10;
