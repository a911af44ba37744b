//! Closed WASI: the imports of a guest's standard library, without access to the system.
//!
//! There are no environment variables, arguments, folders or sockets. The wall clock stands still at the call's time,
//! the monotonic clock at 0. Random numbers come from the call's seed. Printed output goes to the plugin's log. The
//! state is created on first use, since most calls never use it.

use std::time::Duration;

use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use wasmtime_wasi::{
    HostMonotonicClock, HostWallClock, ResourceTable, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView,
    p2::pipe::MemoryOutputPipe,
};

use crate::{
    capability::CallState,
    clock::Timestamp,
    limits::{GUEST_OUTPUT_BYTES_MAX, RESOURCE_HANDLES_MAX, WASI_RANDOM_BYTES_MAX},
};

/// The WASI state of one run.
pub struct ClosedWasi {
    now: Timestamp,
    seed: [u8; 32],
    open: Option<Opened>,
    table: ResourceTable,
}

struct Opened {
    context: WasiCtx,
    output: MemoryOutputPipe,
}

/// Both clocks of a call. They do not advance.
struct StandingClock(Timestamp);

impl HostWallClock for StandingClock {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.0)
    }
}

impl HostMonotonicClock for StandingClock {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        0
    }
}

impl ClosedWasi {
    pub fn new(now: Timestamp, seed: [u8; 32]) -> ClosedWasi {
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCE_HANDLES_MAX);
        ClosedWasi { now, seed, open: None, table }
    }

    /// Returns whether the guest has used WASI, whose clocks and random numbers differ from call to call.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns what the guest printed, at most [`GUEST_OUTPUT_BYTES_MAX`] bytes.
    pub fn output(&self) -> Option<String> {
        let output = self.open.as_ref()?.output.contents();
        if output.is_empty() { None } else { Some(String::from_utf8_lossy(&output).into_owned()) }
    }

    fn open(now: Timestamp, seed: [u8; 32]) -> Opened {
        let output = MemoryOutputPipe::new(GUEST_OUTPUT_BYTES_MAX);
        let [low, high] =
            [0, 8].map(|at| seed.iter().skip(at).take(8).fold(0_u128, |value, byte| value << 8 | u128::from(*byte)));
        let context = WasiCtxBuilder::new()
            .stdout(output.clone())
            .stderr(output.clone())
            .secure_random(ChaCha8Rng::from_seed(seed))
            .insecure_random(ChaCha8Rng::from_seed(seed))
            .insecure_random_seed(high << 64 | low)
            .max_random_size(WASI_RANDOM_BYTES_MAX)
            .wall_clock(StandingClock(now))
            .monotonic_clock(StandingClock(now))
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .build();
        Opened { context, output }
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let wasi = self.wasi_mut();
        let (now, seed) = (wasi.now, wasi.seed);
        let opened = wasi.open.get_or_insert_with(|| ClosedWasi::open(now, seed));
        WasiCtxView { ctx: &mut opened.context, table: &mut wasi.table }
    }
}

#[cfg(test)]
mod tests {
    use wasmtime_wasi::p2::bindings::random::{insecure::Host as _, random::Host as _};

    use super::*;

    #[test]
    fn random_bytes_are_bounded() {
        let mut opened = ClosedWasi::open(1_000, [7; 32]);
        let random = opened.context.random();
        assert!(random.get_random_bytes(WASI_RANDOM_BYTES_MAX).is_ok());
        assert!(random.get_random_bytes(WASI_RANDOM_BYTES_MAX + 1).is_err());
        assert!(random.get_insecure_random_bytes(WASI_RANDOM_BYTES_MAX + 1).is_err());
    }
}
