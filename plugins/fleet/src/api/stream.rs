//! The stream of events: what happens in the organization, as it happens.

use tenon_plugin::{Answer, Call, Outcome, Stop};

use crate::rules::{text, webhook};

/// Ids that one stream may name.
const SUBJECTS_MAX: usize = 100;
const SUBJECT_CHARS_MAX: usize = 200;

/// `events` and `subjects` name what is shown, with commas between; absent: everything.
pub fn open(call: &Call) -> Outcome {
    let events = webhook::known_events(listed(call, "events"))?;
    let subjects = listed(call, "subjects");
    if subjects.len() > SUBJECTS_MAX {
        return Err(webhook::too_many_subjects(SUBJECTS_MAX).into());
    }
    subjects
        .iter()
        .try_for_each(|subject| text::check_line("subjects", subject, SUBJECT_CHARS_MAX))
        .map_err(Stop::from)?;
    Ok(Answer::stream(events, subjects))
}

fn listed(call: &Call, name: &str) -> Vec<String> {
    let names = call.query(name).unwrap_or_default().split(',').map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use tenon_plugin::test_kit::{TestCall, TestHost};

    fn opened(query: &str) -> (u16, String) {
        let host = TestHost::new(&crate::PLUGIN);
        let answer = host.call(TestCall::get(&format!("/v1/stream{query}")));
        (answer.status, answer.body)
    }

    #[test]
    fn a_stream_shows_everything_unless_it_names_what() {
        assert_eq!(opened(""), (200, r#"{"event_types":[],"subjects":[]}"#.to_owned()));
        let named = opened("?events=order.created, order.created&subjects=order_1,order_2");
        assert_eq!(named, (200, r#"{"event_types":["order.created"],"subjects":["order_1","order_2"]}"#.to_owned()));
    }

    #[test]
    fn what_does_not_exist_cannot_be_streamed() {
        let (status, body) = opened("?events=order.creatde");
        assert!(status == 422 && body.contains("events"), "{status} {body}");
        let (status, body) = opened(&format!("?subjects={}", "a,".repeat(101)));
        assert!(status == 422 && body.contains("subjects"), "{status} {body}");
        assert_eq!(opened("?subjects=a\0b").0, 422);
    }
}
