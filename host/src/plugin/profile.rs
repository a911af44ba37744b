//! Profiles of plugins: samples the stack of each running guest of one generation at each tick of the engine's clock.
//!
//! `boot` decides when a profile ends. Invariants: a host has one profile at a time. A dropped profile takes no more
//! samples and frees its samples.
//!
//! - `capability::sampler` takes the samples. `document`: the file of the Firefox profiler. `functions`: the functions
//!   with the most samples.

mod document;
mod functions;

use std::{sync::Arc, time::Duration};

use tokio::sync::{Mutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

use super::{backtrace, generation::Generation};
use crate::capability::sampler::{Frame, HostWork, Sampler, Samples};
use crate::clock::Timestamp;

pub use functions::FunctionSamples;

/// Begins the profiles of a host.
#[derive(Default)]
pub struct Profiler {
    /// Held by the running profile.
    exclusive: Arc<Mutex<()>>,
}

impl Profiler {
    /// Begins a profile. Returns `None` while another one runs. `slots`: [`ServingEngine::slots`].
    ///
    /// [`ServingEngine::slots`]: super::engine::ServingEngine::slots
    pub fn begin(&self, generation: Arc<Generation>, slots: &Arc<Semaphore>) -> Option<RunningProfile> {
        let exclusive = self.exclusive.clone().try_lock_owned().ok()?;
        let slot = slots.clone().try_acquire_owned().ok();
        let sampler = Sampler::start();
        generation.facts.sampling.begin(sampler.clone());
        Some(RunningProfile { generation, sampler, _exclusive: exclusive, _slot: slot })
    }
}

/// A profile that takes samples until it ends or is dropped.
pub struct RunningProfile {
    generation: Arc<Generation>,
    sampler: Arc<Sampler>,
    _exclusive: OwnedMutexGuard<()>,
    /// The clock of the engine ticks at full speed only while a slot is taken. Absent if guests hold all slots.
    _slot: Option<OwnedSemaphorePermit>,
}

impl RunningProfile {
    pub fn generation(&self) -> &Arc<Generation> {
        &self.generation
    }

    /// Waits until there is no room for another sample.
    pub async fn full(&self) {
        self.sampler.full().await;
    }

    /// Ends the profile. `now`: for the times in the file.
    pub fn end(self, now: Timestamp) -> Profile {
        let duration = self.sampler.began().elapsed();
        let samples = self.sampler.end().unwrap_or_default();
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let began_at = now.saturating_sub(duration_ms);
        Profile { generation: self.generation.clone(), samples, began_at, duration }
    }
}

impl Drop for RunningProfile {
    fn drop(&mut self) {
        self.generation.facts.sampling.end();
        // A guest may still hold the sampler.
        drop(self.sampler.end());
    }
}

/// The result of a profile.
pub struct Profile {
    generation: Arc<Generation>,
    samples: Samples,
    began_at: Timestamp,
    pub duration: Duration,
}

impl Profile {
    pub fn samples(&self) -> usize {
        self.samples.taken.len()
    }

    pub fn is_full(&self) -> bool {
        self.samples.is_full()
    }

    /// Returns the functions with the most own samples, and the content of the file. Takes some ten milliseconds.
    pub fn render(&self) -> serde_json::Result<(Vec<FunctionSamples>, String)> {
        let names: Vec<String> = self.samples.frames.iter().map(name).collect();
        let functions = functions::list(&self.samples, &names);
        let title = format!("{} {}", self.generation.plugin(), self.generation.manifest.version);
        let about = document::About { title: &title, began_at: self.began_at, duration: self.duration };
        Ok((functions, document::render(&self.samples, &names, &about)?))
    }
}

/// Returns the displayed name of a frame.
fn name(frame: &Frame) -> String {
    match frame {
        Frame::Operation(name) => name.to_string(),
        Frame::LeftOut => "(outer frames left out)".to_owned(),
        Frame::Function(name) => backtrace::function_name(name),
        Frame::Host(HostWork::Instance) => "(making the instance)".to_owned(),
        Frame::Host(HostWork::Call) => "(in the host)".to_owned(),
        Frame::Host(HostWork::Wait) => "(waiting in the host)".to_owned(),
    }
}
