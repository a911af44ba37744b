//! Profiles of serving plugins: their duration, and the conditions that end them early.

use std::{sync::Arc, time::Duration};

use axum::{Extension, Json, extract::State, routing::post};
use http::StatusCode;
use http::Uri;
use serde::Deserialize;
use tokio::time::sleep;

use super::{
    AdminError, Services,
    inputs::{Caller, Name, Operator, read_options},
    routes::Routes,
    wire::{FunctionStatus, ProfileEnd, ProfileReport},
};
use crate::{
    limits::{EPOCH_TICK_MS, PROFILE_SECONDS_DEFAULT, PROFILE_SECONDS_MAX},
    plugin::{
        generation::{Code, Generation},
        profile::{FunctionSamples, Profile, RunningProfile},
    },
};

pub fn routes() -> Routes {
    Routes::default().action_with_options("profile", "/v1/plugins/{plugin}/profile", post(profile))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    seconds: Option<u64>,
}

/// Responds when the profile has ended. If the client disconnects, the profile ends.
async fn profile(
    State(host): State<Arc<Services>>,
    Name(plugin): Name,
    uri: Uri,
    operator: Operator,
    Extension(caller): Extension<Caller>,
) -> Result<Json<ProfileReport>, AdminError> {
    let max = PROFILE_SECONDS_MAX;
    let hint = format!("The option is seconds=1..{max}.");
    let Options { seconds } = read_options(&uri, &hint)?;
    let seconds = seconds.unwrap_or(PROFILE_SECONDS_DEFAULT);
    if !(1..=max).contains(&seconds) {
        return Err(AdminError::invalid(format!("seconds must be from 1 to {max}, not {seconds}."), hint));
    }
    host.find_plugin(&plugin).await?;
    let generation = find_serving(&host, &plugin).ok_or_else(|| conflict(&plugin, "no version of it serves"))?;
    if let Code::Native(_) = generation.code {
        return Err(conflict(&plugin, "it is compiled into the host and runs without a sandbox"));
    }
    let begun = host.profiler.begin(generation.clone(), host.loader.slots());
    let profile = begun.ok_or_else(|| conflict(&plugin, "another profile is running; a host runs one at a time"))?;
    let target = format!("{seconds} s of generation {} ({})", generation.number(), generation.manifest.version);
    let action = operator.done(host.clock.now(), &plugin, target);
    host.stores.record_action(&action).await.map_err(AdminError::failed)?;

    let ended = tokio::select! {
        ended = wait_for_end(&host, &profile, Duration::from_secs(seconds)) => ended,
        // No client receives this response.
        () = caller.disconnected() => {
            let status = StatusCode::REQUEST_TIMEOUT;
            return Err(AdminError::new(status, "disconnected", "The client disconnected, so the profile was ended.", ""));
        }
    };
    let profile = profile.end(host.clock.now());
    Ok(Json(report(&generation, profile, ended).await?))
}

async fn wait_for_end(host: &Services, profile: &RunningProfile, duration: Duration) -> ProfileEnd {
    let generation = profile.generation();
    let mut publications = host.registry.publications();
    let swapped = async {
        while find_serving(host, generation.plugin()).is_some_and(|now| now.number() == generation.number()) {
            if publications.changed().await.is_err() {
                return;
            }
        }
    };
    let mut stopped = host.stopped.clone();
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

fn find_serving(host: &Services, plugin: &str) -> Option<Arc<Generation>> {
    let table = host.registry.current();
    table.find_plugin(plugin).map(|mounted| mounted.owner.clone())
}

/// Renders the report on a blocking thread, away from the threads that serve requests.
async fn report(generation: &Generation, profile: Profile, ended: ProfileEnd) -> Result<ProfileReport, AdminError> {
    let notes = notes(generation, &profile, ended);
    let (samples, duration) = (profile.samples() as u64, profile.duration);
    let rendered = tokio::task::spawn_blocking(move || profile.render()).await;
    let (functions, document) = rendered.map_err(AdminError::failed)?.map_err(render_error)?;
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

fn conflict(plugin: &str, reason: &str) -> AdminError {
    AdminError::conflict(
        format!("The profile of {plugin} was not started."),
        vec![reason.to_owned()],
        "List the serving plugins with `tenon plugin list`.",
    )
}

fn render_error(error: serde_json::Error) -> AdminError {
    AdminError::failed(format!("failed to render the profile: {error}"))
}
