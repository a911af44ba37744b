//! Profiles of serving plugins: their duration, and the conditions that end them early.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{HostOperations, failed};
use crate::{
    admin::{
        AdminError,
        operations::ProfileRequest,
        wire::{FunctionStatus, ProfileEnd, ProfileReport},
    },
    changes::operator_action::OperatorAction,
    limits::EPOCH_TICK_MS,
    plugin::{
        generation::{Code, Generation},
        profile::{FunctionSamples, Profile, RunningProfile},
    },
};

impl HostOperations {
    /// Runs a profile and returns its report. Dropping the future ends the profile.
    pub(super) async fn profile_plugin(&self, request: ProfileRequest) -> Result<ProfileReport, AdminError> {
        let ProfileRequest { plugin, seconds, operator } = request;
        self.find_plugin(&plugin).await?;
        let generation =
            self.find_serving(&plugin).ok_or_else(|| profile_conflict(&plugin, "no version of it serves"))?;
        if let Code::Native(_) = generation.code {
            return Err(profile_conflict(&plugin, "it is compiled into the host and runs without a sandbox"));
        }
        let begun = self.profiler.begin(generation.clone(), self.loader.slots());
        let profile =
            begun.ok_or_else(|| profile_conflict(&plugin, "another profile is running; a host runs one at a time"))?;
        let target = format!("{seconds} s of generation {} ({})", generation.number(), generation.manifest.version);
        let action = OperatorAction::done(self.clock.now(), &operator, (&plugin, "profile"), target);
        self.stores.record_action(&action).await.map_err(failed)?;

        let ended = self.wait_for_end(&profile, Duration::from_secs(seconds)).await;
        let profile = profile.end(self.clock.now());
        report(&generation, profile, ended).await
    }

    async fn wait_for_end(&self, profile: &RunningProfile, duration: Duration) -> ProfileEnd {
        let generation = profile.generation();
        let mut publications = self.registry.publications();
        let swapped = async {
            while self.find_serving(generation.plugin()).is_some_and(|now| now.number() == generation.number()) {
                if publications.changed().await.is_err() {
                    return;
                }
            }
        };
        let mut stopped = self.stopped.clone();
        let stopped = async {
            // An error means that the sender was dropped with the host.
            let _stopped = stopped.wait_for(|stopped| *stopped).await;
        };
        tokio::select! {
            () = sleep(duration) => ProfileEnd::Time,
            () = profile.full() => ProfileEnd::Full,
            () = swapped => ProfileEnd::Swapped,
            () = stopped => ProfileEnd::Stopping,
        }
    }

    fn find_serving(&self, plugin: &str) -> Option<Arc<Generation>> {
        let table = self.registry.current();
        table.mounted().iter().find(|mounted| &*mounted.plugin == plugin).map(|mounted| mounted.owner.clone())
    }
}

/// Renders the report on a blocking thread, away from the threads that serve requests.
async fn report(generation: &Generation, profile: Profile, ended: ProfileEnd) -> Result<ProfileReport, AdminError> {
    let notes = notes(generation, &profile, ended);
    let (samples, duration) = (profile.samples() as u64, profile.duration);
    let rendered = tokio::task::spawn_blocking(move || profile.render()).await;
    let (functions, document) = rendered.map_err(|error| failed(error.to_string()))?.map_err(render_error)?;
    Ok(ProfileReport {
        plugin: generation.plugin().to_string(),
        version: generation.manifest.version.clone(),
        hash: generation.hash.to_string(),
        generation: generation.number(),
        milliseconds: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        samples,
        ended,
        notes,
        functions: functions.into_iter().map(function_status).collect(),
        profile: serde_json::value::RawValue::from_string(document).map_err(render_error)?,
    })
}

fn notes(generation: &Generation, profile: &Profile, ended: ProfileEnd) -> Vec<String> {
    let (plugin, version) = (generation.plugin(), &generation.manifest.version);
    let seconds = profile.duration.as_secs_f64();
    let early = match ended {
        ProfileEnd::Time => None,
        ProfileEnd::Swapped => Some(format!(
            "{plugin} was swapped after {seconds:.1} s. This profile is of version {version} (generation {}), which no longer \
             serves.",
            generation.number()
        )),
        ProfileEnd::Full => Some(format!("The profile reached its maximum number of samples after {seconds:.1} s.")),
        ProfileEnd::Stopping => Some(format!("The host stopped after {seconds:.1} s.")),
    };
    let empty = (profile.samples() == 0 && !profile.is_full()).then(|| {
        format!(
            "There are no samples: no call of {plugin} ran when a sample was taken, every {EPOCH_TICK_MS} ms. Send requests to the \
             plugin during the profile; if its calls are short, send many."
        )
    });
    early.into_iter().chain(empty).collect()
}

fn function_status(function: FunctionSamples) -> FunctionStatus {
    FunctionStatus { name: function.name, self_samples: function.own, total_samples: function.total }
}

fn profile_conflict(plugin: &str, reason: &str) -> AdminError {
    AdminError::Conflict {
        message: format!("The profile of {plugin} was not started."),
        reasons: vec![reason.to_owned()],
        hint: "List the serving plugins with `tenon plugin list`.".to_owned(),
    }
}

fn render_error(error: serde_json::Error) -> AdminError {
    failed(format!("failed to render the profile: {error}"))
}
