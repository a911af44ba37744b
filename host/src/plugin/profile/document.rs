//! Renders a profile in the "processed profile format" of <https://profiler.firefox.com> (JSON). Pure.

use std::time::Duration;

use fxprof_processed_profile::{
    CategoryColor, CpuDelta, Frame as Label, FrameFlags, FrameInfo, Profile, ReferenceTimestamp, SamplingInterval,
    StackHandle, Timestamp as Time,
};

use crate::{
    capability::sampler::{Frame, Samples},
    clock::Timestamp,
    limits::EPOCH_TICK_MS,
};

/// Title and times of a file.
pub struct About<'a> {
    /// Name and version of the plugin.
    pub title: &'a str,
    pub began_at: Timestamp,
    pub duration: Duration,
}

/// Renders a file. `names`: the name of each frame.
pub fn render(samples: &Samples, names: &[String], about: &About<'_>) -> serde_json::Result<String> {
    let began_at = ReferenceTimestamp::from_millis_since_unix_epoch(about.began_at as f64);
    let mut profile = Profile::new(about.title, began_at, SamplingInterval::from_millis(EPOCH_TICK_MS));
    profile.set_symbolicated(true);
    let operation = profile.add_category("Operation", CategoryColor::Blue).into();
    let plugin = profile.add_category("Plugin", CategoryColor::Yellow).into();
    let host = profile.add_category("Host", CategoryColor::Gray).into();

    let start = Time::from_nanos_since_reference(0);
    let end = Time::from_nanos_since_reference(u64::try_from(about.duration.as_nanos()).unwrap_or(u64::MAX));
    // Not the real process and threads: calls of a plugin run on all threads of the host.
    let process = profile.add_process(about.title, 0, start);
    let thread = profile.add_thread(process, 0, start, true);
    profile.set_thread_name(thread, about.title);
    profile.set_thread_end_time(thread, end);
    profile.set_process_end_time(process, end);

    let mut frames = Vec::with_capacity(samples.frames.len());
    for (frame, name) in samples.frames.iter().zip(names) {
        let category_pair = match frame {
            Frame::Operation(_) => operation,
            Frame::Function(_) | Frame::LeftOut => plugin,
            Frame::Host(_) => host,
        };
        let frame = Label::Label(profile.intern_string(name));
        let info = FrameInfo { frame, category_pair, flags: FrameFlags::empty() };
        frames.push(profile.intern_frame(thread, info));
    }
    let mut stacks: Vec<StackHandle> = Vec::with_capacity(samples.stacks.len());
    for stack in &samples.stacks {
        let caller = stack.caller.and_then(|caller| stacks.get(caller as usize)).copied();
        let Some(frame) = frames.get(stack.frame as usize) else { break };
        stacks.push(profile.intern_stack(thread, caller, *frame));
    }
    for sample in &samples.taken {
        let at = Time::from_nanos_since_reference(u64::from(sample.at_us).saturating_mul(1_000));
        let stack = stacks.get(sample.stack as usize).copied();
        profile.add_sample(thread, at, stack, CpuDelta::ZERO, 1);
    }
    serde_json::to_string(&profile)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::capability::sampler::HostWork;

    fn document(samples: &Samples) -> Value {
        let names: Vec<String> = samples.frames.iter().map(super::super::name).collect();
        let about = About { title: "notes 0.1.0", began_at: 1_000, duration: Duration::from_millis(20) };
        serde_json::from_str(&render(samples, &names, &about).unwrap()).unwrap()
    }

    #[test]
    fn samples_lead_from_the_operation_to_the_function() {
        let mut samples = Samples::default();
        let call = |inner| [Frame::Operation("list-notes".into()), Frame::Function("main".into()), inner];
        samples.add(2_000, call(Frame::Function("_ZN3foo3bar17h0123456789abcdefE".into())));
        samples.add(4_000, call(Frame::Host(HostWork::Wait)));
        let document = document(&samples);
        let thread = &document["threads"][0];
        assert_eq!(document["meta"]["product"], "notes 0.1.0");
        assert_eq!(document["meta"]["startTime"], 1000.0);
        assert_eq!(document["meta"]["interval"], 2.0);
        assert_eq!(thread["samples"]["length"], 2);
        assert_eq!(thread["samples"]["stack"], json!([2, 3]));
        assert_eq!(thread["stackTable"]["prefix"], json!([null, 0, 1, 1]));
        let names = thread["stringArray"].as_array().unwrap();
        for name in ["list-notes", "main", "foo::bar", "(waiting in the host)"] {
            assert!(names.contains(&name.into()), "{name}: {names:?}");
        }
    }

    #[test]
    fn profile_without_samples_is_a_document() {
        assert_eq!(document(&Samples::default())["threads"][0]["samples"]["length"], 0);
    }
}
