//! Every number of the host that an operator does not set: name with unit, value, why.

// The engine and the swap.

/// Milliseconds between two ticks of the epoch: how exactly a guest's computing time is measured.
pub const EPOCH_TICK_MS: u64 = 10;
/// Bytes: WebAssembly frames of one call. Guests keep their data in linear memory, so that frames stay small.
pub const WASM_STACK_BYTES: usize = 512 << 10;
/// Bytes: the stack of one call, frames of the host's functions included.
pub const CALL_STACK_BYTES: usize = 1 << 20;
/// Bytes that a slot of the pool keeps resident between two calls: the working set of an ordinary call.
pub const MEMORY_RESIDENT_BYTES: usize = 256 << 10;
pub const TABLE_RESIDENT_BYTES: usize = 64 << 10;
pub const STACK_RESIDENT_BYTES: usize = 64 << 10;
/// Bytes that one linear memory may ever have; what plugins.toml allows has to stay below it.
pub const POOL_MEMORY_BYTES: usize = 1 << 30;
/// Calls at the same time that the pool is laid out for, at least and at most. A slot is address space, not memory.
pub const POOL_CALLS_MIN: usize = 128;
pub const POOL_CALLS_MAX: usize = 1_024;
/// Linear memories, tables and core instances of one component.
pub const COMPONENT_MEMORIES_MAX: u32 = 8;
pub const COMPONENT_TABLES_MAX: u32 = 32;
pub const COMPONENT_CORE_INSTANCES_MAX: u32 = 64;
/// Tables for each call: a main module and the tables of the adapters around it.
pub const TABLES_PER_CALL: u32 = 4;
/// Entries of one table: interpreters as guests have large ones.
pub const TABLE_ELEMENTS_MAX: usize = 100_000;
/// Bytes of an instance's own bookkeeping in the engine.
pub const INSTANCE_BYTES_MAX: usize = 10 << 20;
/// Slots that stay warm for a component that was replaced: few, they hold memory of the old one.
pub const POOL_WARM_SLOTS: u32 = 64;
/// Pages are given back to the system for so many slots at once.
pub const POOL_DECOMMIT_BATCH: usize = 16;
/// The nice value of the thread that compiles: requests come first.
pub const COMPILE_NICE: i32 = 10;
/// Bytes of the text that `describe` returns.
pub const MANIFEST_BYTES_MAX: usize = 4 << 20;
/// Milliseconds apart that a file is read twice before it counts as completely written.
pub const SETTLE_MS: u64 = 50;
/// Milliseconds after which a file that never stops changing is given up until the next change.
pub const SETTLE_MS_MAX: u64 = 30_000;
/// Published components of one plugin whose bytes are kept for a rollback.
pub const COMPONENTS_KEPT: usize = 10;
/// Lines of the swap journal that are read to find what to serve after a start, and what to roll back to.
pub const SWAP_HISTORY_MAX: usize = 100;
/// Commands that wait for the one task that swaps.
pub const RELOAD_QUEUE: usize = 256;
