//! Memory of one run: its linear memories, and the bytes that the host holds for it. Both are one charge of the budget.
//!
//! Wasmtime's limit applies to each memory. This limit applies to their sum. The host holds the changes that a run
//! collected, the records that it read, its questions, and the result of a host call until it is copied into the guest.
//! These bytes have limits of their own (`CHANGE_SET_BYTES_MAX`, `host-call-bytes`) and are charged in steps. Less than
//! one step is free, so most calls pay nothing for them.

use wasmtime::ResourceLimiter;

use crate::{
    budget::Charge,
    config::PluginLimits,
    limits::{HELD_STEP_BYTES, TABLE_ELEMENTS_MAX},
};

pub struct MemoryMeter {
    bytes_max: usize,
    bytes: usize,
    /// Bytes held by the host that are charged: whole steps.
    held: u64,
    /// Total that the budget had no room for.
    pub over_budget: Option<u64>,
    charge: Option<Charge>,
    /// The guest requested more memory than its limit. Distinguishes a memory fault from another trap.
    pub exceeded: bool,
    /// The guest requested more table elements than the limit.
    pub table_exceeded: bool,
}

/// Returns the part of the bytes held by the host that is charged: whole steps.
pub(super) fn whole_steps(bytes: u64) -> u64 {
    bytes - bytes % HELD_STEP_BYTES
}

impl MemoryMeter {
    pub(super) fn new(limits: &PluginLimits) -> MemoryMeter {
        MemoryMeter {
            bytes_max: usize::try_from(limits.memory_bytes).unwrap_or(usize::MAX),
            bytes: 0,
            held: 0,
            over_budget: None,
            charge: None,
            exceeded: false,
            table_exceeded: false,
        }
    }

    pub(super) fn set_charge(&mut self, charge: Charge) {
        self.charge = Some(charge);
    }

    /// Returns the peak. Neither the memories nor the charge for bytes held by the host shrink during a run.
    pub fn bytes(&self) -> u64 {
        (self.bytes as u64).saturating_add(self.held)
    }

    /// Takes the charge for the work after the run, with its part for bytes held by the host.
    pub(super) fn take_charge(&mut self) -> Option<(Charge, u64)> {
        Some((self.charge.take()?, self.held))
    }

    /// Charges this many bytes held by the host. Returns `false` if the budget has no room.
    pub(super) fn charge_held(&mut self, bytes: u64) -> bool {
        let held = whole_steps(bytes);
        if held <= self.held {
            return true;
        }
        let has_room = self.grow_charge(self.bytes as u64, held);
        if has_room {
            self.held = held;
        }
        has_room
    }

    fn grow_charge(&mut self, memory: u64, held: u64) -> bool {
        let bytes = memory.saturating_add(held);
        let has_room = self.charge.as_mut().is_none_or(|charge| charge.grow_to(bytes));
        if !has_room {
            self.over_budget = Some(bytes);
        }
        has_room
    }
}

impl ResourceLimiter for MemoryMeter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let bytes = self.bytes.saturating_add(desired.saturating_sub(current));
        if bytes > self.bytes_max {
            self.exceeded = true;
            return Ok(false);
        }
        if !self.grow_charge(bytes as u64, self.held) {
            return Ok(false);
        }
        self.bytes = bytes;
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        self.table_exceeded |= desired > TABLE_ELEMENTS_MAX;
        Ok(desired <= TABLE_ELEMENTS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, sync::Arc, time::Duration};

    use tenon_bindings::tenon::plugin::records::Host;
    use tokio::time::Instant;

    use super::*;
    use crate::budget::MemoryConfig;
    use crate::{
        budget::{Budget, Party},
        capability::{CallState, Facts, Inputs, LogLimits, Questions, Shared},
        commit::testing::{Bench, decided_by, endpoint},
        fair::Request,
        limits::ENDPOINT_PARSED_FACTOR,
    };

    fn until() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[tokio::test]
    async fn growth_is_charged_and_denied_above_the_share_of_the_tenant() {
        let budget = Budget::new(&MemoryConfig { budget_bytes: 400, tenant_percent: 50 });
        let acme = Party::from("acme/test");
        let _held = budget.charge_call(&acme, Request::of(10), until()).await.unwrap();
        let mut meter = MemoryMeter::new(&PluginLimits { memory_bytes: 1_000, ..PluginLimits::default() });
        meter.charge = Some(budget.charge_call(&acme, Request::of(10), until()).await.unwrap());
        assert!(meter.memory_growing(0, 140, None).unwrap(), "the share is 150 bytes");
        assert_eq!(budget.readings()[0].used, 150);
        assert!(!meter.memory_growing(140, 141, None).unwrap());
        assert_eq!(meter.over_budget, Some(141));
        assert!(!meter.exceeded, "its own limit is not reached");
        assert_eq!(budget.readings()[0].used, 150);
    }

    #[test]
    fn all_memories_of_an_instance_share_one_limit() {
        let limits = PluginLimits { memory_bytes: 100, ..PluginLimits::default() };
        let mut meter = MemoryMeter::new(&limits);
        assert!(meter.memory_growing(0, 60, None).unwrap(), "the first memory");
        assert!(!meter.memory_growing(0, 60, None).unwrap(), "a second one");
        assert!(meter.exceeded);
        assert!(meter.memory_growing(0, 40, None).unwrap(), "a denied growth does not count");
        assert!(!meter.memory_growing(60, 61, None).unwrap());
    }

    #[tokio::test]
    async fn held_bytes_are_charged_in_steps_beside_the_memory_of_the_guest() {
        let budget = Budget::new(&MemoryConfig { budget_bytes: 16 << 20, tenant_percent: 50 });
        let mut meter = MemoryMeter::new(&PluginLimits::default());
        meter.set_charge(budget.charge_call(&"acme/test".into(), Request::of(10), until()).await.unwrap());
        assert!(meter.memory_growing(0, 1_000, None).unwrap());
        assert!(meter.charge_held(HELD_STEP_BYTES - 1));
        assert_eq!(budget.readings()[0].used, 1_000, "less than a step is free");
        assert!(meter.charge_held(HELD_STEP_BYTES) && meter.charge_held(2 * HELD_STEP_BYTES - 1));
        assert_eq!(budget.readings()[0].used, 1_000 + HELD_STEP_BYTES);
        assert!(meter.memory_growing(1_000, 3_000, None).unwrap());
        assert_eq!((budget.readings()[0].used, meter.bytes()), (3_000 + HELD_STEP_BYTES, 3_000 + HELD_STEP_BYTES));
    }

    /// Starts a run of a call of the plugin "notes".
    fn run(bench: &Bench) -> CallState {
        let facts = Facts {
            plugin: "notes".into(),
            generation: 1,
            decided_by: decided_by(),
            limits: PluginLimits::default(),
            settings: Default::default(),
            shared: Shared::bare(),
            shows_private_keys: false,
            operator_destinations: Default::default(),
            event_types: HashMap::new(),
            tasks: Default::default(),
            log: LogLimits::bare(),
            sampling: Default::default(),
        };
        let inputs = Inputs { request_id: "request_1".into(), now: 1_000, seed: [7; 32] };
        CallState::new(Arc::new(facts), &inputs, Box::new(bench.begin()), Questions::default())
    }

    /// Inserts a record of two steps.
    async fn insert(state: &mut CallState, id: &str) -> bool {
        let around = r#"{"pad":""}"#.len();
        let length = usize::try_from(2 * HELD_STEP_BYTES).unwrap() - around;
        let body = format!(r#"{{"pad":"{}"}}"#, "x".repeat(length));
        matches!(state.insert("things".to_owned(), id.to_owned(), body).await, Ok(Ok(())))
    }

    #[tokio::test]
    async fn collected_changes_are_charged_to_their_tenant_until_they_are_dropped() {
        // A tenant may hold a little less than six steps.
        let budget = Budget::new(&MemoryConfig { budget_bytes: 16 * HELD_STEP_BYTES, tenant_percent: 50 });
        let acme = Party::from("acme/test");
        let _held = budget.charge_call(&acme, Request::of(10), until()).await.unwrap();
        let bench = Bench::open().await;
        let mut state = run(&bench);
        state.memory.set_charge(budget.charge_call(&acme, Request::of(10), until()).await.unwrap());
        assert!(insert(&mut state, "one").await && insert(&mut state, "two").await);
        assert_eq!(budget.readings()[0].used, 4 * HELD_STEP_BYTES + 10);
        assert!(!insert(&mut state, "three").await);
        assert_eq!(state.memory.over_budget, Some(6 * HELD_STEP_BYTES));
        drop(state.take_charge());
        assert_eq!(budget.readings()[0].used, 4 * HELD_STEP_BYTES + 10, "the draft holds the charge");
        let (draft, _questions) = state.into_parts();
        let changes = draft.into_changes(None);
        assert_eq!(budget.readings()[0].used, 4 * HELD_STEP_BYTES + 10, "the change set holds the charge");
        drop(changes);
        assert_eq!(budget.readings()[0].used, 10);
    }

    /// Stores a record of two steps and starts a run. The charge of the run belongs to a tenant that has room for more.
    async fn reading(budget: &Budget, bench: &Bench) -> CallState {
        let mut writer = run(bench);
        assert!(insert(&mut writer, "one").await);
        let (draft, _questions) = writer.into_parts();
        bench.committer.commit(draft.into_changes(None), None).await.unwrap();
        let mut state = run(bench);
        state.memory.set_charge(budget.charge_call(&"acme/test".into(), Request::of(10), until()).await.unwrap());
        state
    }

    #[tokio::test]
    async fn record_that_was_read_is_charged_with_its_copy_for_the_guest_until_the_run_ends() {
        let (budget, bench) =
            (Budget::new(&MemoryConfig { budget_bytes: 64 << 20, tenant_percent: 50 }), Bench::open().await);
        let mut state = reading(&budget, &bench).await;
        state.get("things".to_owned(), "one".to_owned()).await.unwrap().unwrap();
        assert_eq!(budget.readings()[0].used, 4 * HELD_STEP_BYTES);
        drop(state.take_charge());
        assert_eq!(budget.readings()[0].used, 0, "its changes are small");
    }

    #[tokio::test]
    async fn result_of_a_host_call_is_charged_as_a_whole() {
        let (budget, bench) =
            (Budget::new(&MemoryConfig { budget_bytes: 64 << 20, tenant_percent: 50 }), Bench::open().await);
        let mut state = reading(&budget, &bench).await;
        state.get_many("things".to_owned(), vec!["one".to_owned(); 5]).await.unwrap();
        assert_eq!(budget.readings()[0].used, 12 * HELD_STEP_BYTES, "the record once, and five copies of it");
    }

    #[tokio::test]
    async fn pending_questions_are_charged_until_the_run_ends() {
        use tenon_bindings::tenon::plugin::{questions::Host as _, types};

        let (budget, bench) =
            (Budget::new(&MemoryConfig { budget_bytes: 64 << 20, tenant_percent: 50 }), Bench::open().await);
        let mut state = reading(&budget, &bench).await;
        let call = types::Call {
            destination: "bank".to_owned(),
            method: "POST".to_owned(),
            path: "/".to_owned(),
            headers: Vec::new(),
            content: types::Content::Json("7".repeat(usize::try_from(HELD_STEP_BYTES).unwrap())),
            timeout: 0,
        };
        assert!(state.ask("a".to_owned(), call.clone()).await.unwrap().is_none());
        assert!(state.ask("b".to_owned(), call).await.unwrap().is_none());
        state.charge_held(0).unwrap();
        assert_eq!(budget.readings()[0].used, 2 * HELD_STEP_BYTES);
        let (_draft, mut questions) = state.into_parts();
        questions.remove_pending();
        assert_eq!((questions.pending_bytes(), budget.readings()[0].used), (0, 0));
    }

    #[tokio::test]
    async fn list_of_endpoints_is_charged_with_its_parsed_size() {
        use tenon_bindings::tenon::plugin::subscriptions::Host as _;

        let bench = Bench::open().await;
        let endpoint = endpoint(usize::try_from(HELD_STEP_BYTES).unwrap());
        let put = bench.run(async |draft| {
            draft.put_endpoint("ep", &endpoint).await?.unwrap();
            Ok(())
        });
        put.await.unwrap();
        let budget = Budget::new(&MemoryConfig { budget_bytes: 64 << 20, tenant_percent: 50 });
        let mut state = run(&bench);
        state.memory.set_charge(budget.charge_call(&"acme/test".into(), Request::of(10), until()).await.unwrap());
        assert_eq!(state.all().await.unwrap().len(), 1);
        let least = ENDPOINT_PARSED_FACTOR as u64 * HELD_STEP_BYTES;
        assert!(budget.readings()[0].used >= least, "{}", budget.readings()[0].used);
        drop(state);
        assert_eq!(budget.readings()[0].used, 0);
    }
}
