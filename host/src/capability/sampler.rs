//! Stack samples of running guests, for a profile of their plugin.
//!
//! `plugin::profile` starts, ends and renders profiles. Invariants: without a profile a tick costs one pointer read.
//! Samples are bounded (`limits::PROFILE_*`). A sampler that is full or has ended takes no more samples.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use indexmap::IndexSet;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};
use wasmtime::{AsContext, FrameInfo, WasmBacktrace};

use super::CallState;
use crate::limits::{
    PROFILE_FRAMES_MAX, PROFILE_NAME_BYTES_MAX, PROFILE_NAMES_BYTES_MAX, PROFILE_SAMPLES_MAX, PROFILE_STACKS_MAX,
};

/// Slot of a generation for its running profile.
#[derive(Default)]
pub struct Sampling(ArcSwapOption<Sampler>);

impl Sampling {
    pub fn current(&self) -> Option<Arc<Sampler>> {
        self.0.load_full()
    }

    pub fn begin(&self, sampler: Arc<Sampler>) {
        self.0.store(Some(sampler));
    }

    pub fn end(&self) {
        self.0.store(None);
    }
}

/// Collects samples of all calls of a generation.
pub struct Sampler {
    began: Instant,
    /// `None` once the profile has ended.
    samples: Mutex<Option<Samples>>,
    full: Notify,
}

impl Sampler {
    pub fn start() -> Arc<Sampler> {
        let samples = Mutex::new(Some(Samples::default()));
        Arc::new(Sampler { began: Instant::now(), samples, full: Notify::new() })
    }

    /// Takes one sample of the guest that runs in this store, on the current stack.
    pub fn sample(&self, store: impl AsContext<Data = CallState>) {
        if self.samples.lock().is_none() {
            return;
        }
        // The stack is captured outside the lock, so that guests on other threads can take their samples.
        let frames = frames(store.as_context().data(), &WasmBacktrace::force_capture(&store));
        let mut samples = self.samples.lock();
        let Some(samples) = samples.as_mut() else { return };
        // The time is read within the lock, so that times never decrease.
        let at_us = u32::try_from(self.began.elapsed().as_micros()).unwrap_or(u32::MAX);
        samples.add(at_us, frames);
        if samples.is_full {
            self.full.notify_one();
        }
    }

    /// Resolves when there is no room for another sample.
    pub async fn full(&self) {
        self.full.notified().await;
    }

    /// Ends the profile. Returns its samples once.
    pub fn end(&self) -> Option<Samples> {
        self.samples.lock().take()
    }

    pub fn began(&self) -> Instant {
        self.began
    }
}

/// A frame of a stack, by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Frame {
    /// The outermost frame of each stack: the operation of the call.
    Operation(Arc<str>),
    /// Replaces outer frames that were omitted.
    LeftOut,
    /// A function of the plugin, with its name in the component.
    Function(Box<str>),
    /// The innermost frame of a sample whose tick passed in the host.
    Host(HostWork),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostWork {
    /// The host created the instance.
    Instance,
    /// The host ran a host call, or passed arguments and results.
    Call,
    /// The guest waited in a host call for longer than a tick.
    Wait,
}

/// Prefixes of functions that only the host calls, by the convention of bindings generators.
const CALLED_BY_HOST: [&str; 2] = ["cabi_realloc", "cabi_post_"];

impl Frame {
    fn name_bytes(&self) -> usize {
        match self {
            Frame::Operation(name) => name.len(),
            Frame::Function(name) => name.len(),
            Frame::LeftOut | Frame::Host(_) => 0,
        }
    }
}

/// A frame and the stack of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stack {
    /// Index into [`Samples::stacks`], less than the index of this stack. `None` for the outermost frame.
    pub caller: Option<u32>,
    /// Index into [`Samples::frames`].
    pub frame: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Microseconds since the profile began.
    pub at_us: u32,
    /// Index into [`Samples::stacks`].
    pub stack: u32,
}

/// Samples in the order of their times. Each frame and each stack is held once.
#[derive(Default)]
pub struct Samples {
    pub frames: IndexSet<Frame>,
    pub stacks: IndexSet<Stack>,
    pub taken: Vec<Sample>,
    name_bytes: usize,
    is_full: bool,
}

impl Samples {
    /// Adds a sample of these frames, the outermost first. A sample without room is dropped, and no later
    /// sample is added.
    pub fn add(&mut self, at_us: u32, frames: impl IntoIterator<Item = Frame>) {
        if self.is_full {
            return;
        }
        let mut caller = None;
        for frame in frames {
            let Some(stack) = self.insert(caller, frame) else {
                self.is_full = true;
                return;
            };
            caller = Some(stack);
        }
        let Some(stack) = caller else { return };
        self.taken.push(Sample { at_us, stack });
        self.is_full = self.taken.len() >= PROFILE_SAMPLES_MAX;
    }

    pub fn is_full(&self) -> bool {
        self.is_full
    }

    fn insert(&mut self, caller: Option<u32>, frame: Frame) -> Option<u32> {
        let index = match self.frames.get_index_of(&frame) {
            Some(index) => index,
            None => {
                self.name_bytes = self.name_bytes.saturating_add(frame.name_bytes());
                if self.name_bytes > PROFILE_NAMES_BYTES_MAX {
                    return None;
                }
                self.frames.insert_full(frame).0
            }
        };
        let stack = Stack { caller, frame: u32::try_from(index).ok()? };
        let index = match self.stacks.get_index_of(&stack) {
            Some(index) => index,
            None if self.stacks.len() >= PROFILE_STACKS_MAX => return None,
            None => self.stacks.insert_full(stack).0,
        };
        u32::try_from(index).ok()
    }
}

/// Returns the frames of a sample, the outermost first.
fn frames(state: &CallState, backtrace: &WasmBacktrace) -> Vec<Frame> {
    let functions = backtrace.frames();
    let left_out = (functions.len() >= PROFILE_FRAMES_MAX).then_some(Frame::LeftOut);
    let host = host_work(state, functions).map(Frame::Host);
    let outer = [Frame::Operation(state.operation().clone())].into_iter().chain(left_out);
    outer.chain(functions.iter().rev().map(function)).chain(host).collect()
}

/// Returns what the host did when the tick passed, or `None` if the guest computed.
fn host_work(state: &CallState, functions: &[FrameInfo]) -> Option<HostWork> {
    if state.has_waited() {
        return Some(HostWork::Wait);
    }
    // The code that starts an instance belongs to no function.
    let Some(innermost) = functions.first() else { return Some(HostWork::Instance) };
    let name = innermost.func_name().unwrap_or_default();
    CALLED_BY_HOST.iter().any(|called| name.starts_with(called)).then_some(HostWork::Call)
}

fn function(frame: &FrameInfo) -> Frame {
    let name = match frame.func_name() {
        Some(name) => name.get(..name.floor_char_boundary(PROFILE_NAME_BYTES_MAX)).unwrap_or_default().into(),
        None => format!("<wasm function {}>", frame.func_index()).into(),
    };
    Frame::Function(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(names: &[&str]) -> Vec<Frame> {
        names.iter().map(|name| Frame::Function((*name).into())).collect()
    }

    #[test]
    fn equal_frames_and_prefixes_of_stacks_are_held_once() {
        let mut samples = Samples::default();
        for (at_us, names) in [(1, ["a", "b"]), (2, ["a", "c"]), (3, ["a", "b"])] {
            samples.add(at_us, stack(&names));
        }
        assert_eq!(samples.frames.len(), 3);
        assert_eq!(samples.stacks.len(), 3);
        let stacks: Vec<u32> = samples.taken.iter().map(|sample| sample.stack).collect();
        assert_eq!(stacks, [1, 2, 1]);
    }

    #[test]
    fn sample_without_frames_is_ignored() {
        let mut samples = Samples::default();
        samples.add(1, []);
        assert!(samples.taken.is_empty() && !samples.is_full());
    }

    #[test]
    fn number_of_samples_is_bounded() {
        let mut samples = Samples::default();
        for at_us in 0..PROFILE_SAMPLES_MAX as u32 + 10 {
            samples.add(at_us, stack(&["a"]));
        }
        assert_eq!(samples.taken.len(), PROFILE_SAMPLES_MAX);
        assert!(samples.is_full());
    }

    #[test]
    fn number_of_stacks_is_bounded() {
        let mut samples = Samples::default();
        let deep: Vec<Frame> = (0..PROFILE_STACKS_MAX + 10).map(|_| Frame::LeftOut).collect();
        samples.add(1, deep);
        assert_eq!(samples.stacks.len(), PROFILE_STACKS_MAX);
        assert!(samples.is_full() && samples.taken.is_empty());
    }

    #[test]
    fn bytes_of_names_are_bounded() {
        let mut samples = Samples::default();
        let count = PROFILE_NAMES_BYTES_MAX / PROFILE_NAME_BYTES_MAX + 10;
        for number in 0..count {
            samples.add(1, stack(&[&format!("{number:0>PROFILE_NAME_BYTES_MAX$}")]));
        }
        let held: usize = samples.frames.iter().map(Frame::name_bytes).sum();
        assert!(held <= PROFILE_NAMES_BYTES_MAX && samples.is_full(), "{held}");
    }

    #[test]
    fn ended_sampler_returns_its_samples_once() {
        let sampler = Sampler::start();
        assert!(sampler.end().is_some());
        assert!(sampler.end().is_none());
    }
}
