//! Numbers of tasks, of effects, and of questions.

/// Bytes of the key of a task or effect: together with its name it is the id of a record.
pub const TASK_KEY_BYTES_MAX: usize = 128;
/// The latest time of a task, in the year 10889; who means "never" gets this.
pub const TASK_DUE_MAX: u64 = 1 << 48;
/// Bytes of a payload, or the context of an effect.
pub const TASK_PAYLOAD_BYTES_MAX: usize = 64 << 10;
/// Bytes of the body of an outgoing call: written into a record, where a text may become twice as long.
pub const OUTGOING_BODY_BYTES_MAX: usize = 128 << 10;
/// Bytes of the body of an answer that an effect keeps for its task; one that is longer is as good as none.
pub const EFFECT_ANSWER_BYTES_MAX: usize = 128 << 10;
/// Delays between the attempts of one effect.
pub const EFFECT_DELAYS_MAX: usize = 32;
/// Delays between runs of a task that ended in a fault, where the plugin's settings name none: eight of them, nine runs, four
/// hours.
pub const TASK_DELAYS_MS: [u64; 8] = [1_000, 5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, 7_200_000];
/// Delays that an operator may name, and the longest of them: a week.
pub const TASK_DELAYS_MAX: usize = 32;
pub const TASK_DELAY_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;
/// Bytes of a fault that are kept for operators.
pub const TASK_FAULT_BYTES_MAX: usize = 1_024;
/// How soon a task is tried again that could not run for reasons that are not its own: no seat, no plugin, no disk.
pub const TASK_PAUSE_MS: u64 = 1_000;
/// How long a process that ends waits for threads that hang in the system.
pub const THREADS_STOP_MS: u64 = 1_000;
/// How long a host that stops waits for tasks and outgoing calls that are under way.
pub const TASKS_STOP_MS: u64 = 5_000;
/// Questions to the database about what is due, at once: readers are there for requests first.
pub const TASK_LOOKS_MAX: usize = 2;
/// Runs of tasks at once, of one plugin: half of the seats that it has by default, which it shares with requests.
pub const TASKS_RUNNING_MAX: usize = 32;
/// The same of one plugin and tenant.
pub const TENANT_TASKS_RUNNING_MAX: usize = 16;
/// Tasks of one plugin and tenant in hand, those that wait for replies included: when as many wait as may ask at once, as
/// many as may run have their turn.
pub const TENANT_TASKS_IN_HAND_MAX: usize = TENANT_QUESTIONS_RUNNING_MAX + TENANT_TASKS_RUNNING_MAX;
/// Records that commits report about one line while it is at work; the rest is searched for in the database.
pub const TASKS_REPORTED_MAX: usize = 256;
/// The longest attempt of an effect, whatever its destination allows.
pub const EFFECT_ATTEMPT_MS_MAX: u64 = 120_000;
/// Outgoing calls of effects at once: the first to each destination of each plugin and tenant, and all others.
pub const FIRST_EFFECTS_RUNNING_MAX: usize = 1_024;
pub const FURTHER_EFFECTS_RUNNING_MAX: usize = 1_024;
/// The same of one plugin and tenant: an eighth. And to one destination: one that hangs holds a quarter of that.
pub const TENANT_FIRST_EFFECTS_RUNNING_MAX: usize = 128;
pub const TENANT_FURTHER_EFFECTS_RUNNING_MAX: usize = 128;
pub const DESTINATION_EFFECTS_RUNNING_MAX: usize = 32;
/// Tenants with slots of their own in memory before those at rest are looked for.
pub const TENANT_SLOTS_KEPT: usize = 1_024;
/// Questions under way at once, those of one plugin and tenant, and how many of it may wait for their turn.
pub const QUESTIONS_RUNNING_MAX: usize = 1_024;
pub const TENANT_QUESTIONS_RUNNING_MAX: usize = 64;
pub const TENANT_QUESTIONS_WAITING_MAX: usize = 4_096;
/// Bytes of all replies that one call has got.
pub const QUESTION_REPLIES_BYTES_MAX: usize = 4 << 20;
/// Questions of one call, and rounds in which it may ask them.
pub const QUESTIONS_MAX: usize = 16;
pub const QUESTION_ROUNDS_MAX: u32 = 4;
/// Tasks of one name that are told apart for an operator who names none of their tenants.
pub const TASKS_NAMED_MAX: u32 = 10;
