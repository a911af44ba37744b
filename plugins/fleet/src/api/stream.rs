//! Events for readers: a stream of what happens in the organization, as it happens, and the same for those who pull.

use tenon_plugin::{Answer, Call, FeedFilter, Outcome, Stop, json};

use super::actor::manage;
use super::errors;
use super::lists::{LIMIT_DEFAULT, Limit, single, words};
use crate::rules::{text, webhook};

/// Ids that one stream may name.
const SUBJECTS_MAX: usize = 100;
const SUBJECT_CHARS_MAX: usize = 200;

pub fn open(call: &Call) -> Outcome {
    let shown = shown(call)?;
    Ok(Answer::stream(shown.event_types, shown.subjects))
}

/// From the oldest that is kept on, or after an event. Each is the body that its webhooks have.
pub fn list(call: &Call) -> Outcome {
    let limit = Limit::of(call, LIMIT_DEFAULT)?;
    let after = single(call, "after")?;
    let page = call.feed(&shown(call)?, after, limit.entries).ok_or_else(errors::not_kept)?;
    let events = json::array(page.events.iter().map(|event| event.body.as_str()));
    let next = json::to_text(&page.next)?;
    let more = if page.more { "true" } else { "false" };
    Ok(limit.tell(Answer::ok(["{\"events\":", &events, ",\"next\":", &next, ",\"more\":", more, "}"].concat())))
}

/// `events` and `subjects` name what is shown, with commas between; absent: everything.
fn shown(call: &Call) -> Result<FeedFilter, Stop> {
    manage(call)?;
    let event_types = webhook::known_events(listed(call, "events"))?;
    let subjects = listed(call, "subjects");
    if subjects.len() > SUBJECTS_MAX {
        return Err(webhook::too_many_subjects(SUBJECTS_MAX).into());
    }
    subjects
        .iter()
        .try_for_each(|subject| text::check_line("subjects", subject, SUBJECT_CHARS_MAX))
        .map_err(Stop::from)?;
    Ok(FeedFilter { event_types, subjects })
}

/// However often the parameter is there, with "[]" or without.
fn listed(call: &Call, name: &str) -> Vec<String> {
    words(call, name).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
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
        let repeated = opened("?events[]=order.created&events[]=order.updated&subjects=order_1&subjects=order_2");
        let expected = r#"{"event_types":["order.created","order.updated"],"subjects":["order_1","order_2"]}"#;
        assert_eq!(repeated, (200, expected.to_owned()));
    }

    #[test]
    fn what_does_not_exist_cannot_be_streamed() {
        let (status, body) = opened("?events=order.creatde");
        assert!(status == 422 && body.contains("events"), "{status} {body}");
        let (status, body) = opened(&format!("?subjects={}", "a,".repeat(101)));
        assert!(status == 422 && body.contains("subjects"), "{status} {body}");
        assert_eq!(opened("?subjects=a\0b").0, 422);
    }

    /// A new driver who moved three times, and an order in between.
    fn moved() -> TestHost {
        let host = TestHost::new(&crate::PLUGIN);
        let ada = json!({"name": "Ada", "email": "ada@example.com", "phone": "+65 1"});
        let id = host.call(TestCall::post("/v1/drivers").json(&ada)).json()["id"].as_str().unwrap().to_owned();
        for latitude in 0..3 {
            let fix = json!({"latitude": latitude, "longitude": 8.5});
            assert_eq!(host.call(TestCall::post(&format!("/v1/drivers/{id}/track")).json(&fix)).status, 200);
            if latitude == 1 {
                let order = json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"});
                assert_eq!(host.call(TestCall::post("/v1/orders").json(&order)).status, 201);
            }
        }
        host
    }

    fn pulled(host: &TestHost, query: &str) -> Value {
        host.call(TestCall::get(&format!("/v1/events{query}"))).json()
    }

    #[test]
    fn a_reader_that_pulls_goes_on_where_its_page_ended() {
        let host = moved();
        let first = pulled(&host, "?limit=3");
        assert_eq!((first["events"].as_array().unwrap().len(), &first["more"]), (3, &json!(true)));
        let second = pulled(&host, &format!("?after={}", first["next"].as_str().unwrap()));
        assert_eq!((second["events"].as_array().unwrap().len(), &second["more"]), (2, &json!(false)));
        let third = pulled(&host, &format!("?after={}", second["next"].as_str().unwrap()));
        assert_eq!(third, json!({"events": [], "next": second["next"], "more": false}));
        let orders = pulled(&host, "?events=order.created");
        assert_eq!((orders["events"].as_array().unwrap().len(), &orders["next"]), (1, &second["next"]));
        assert_eq!(pulled(&TestHost::new(&crate::PLUGIN), ""), json!({"events": [], "next": null, "more": false}));
    }

    #[test]
    fn a_reader_whose_event_is_not_known_is_told_to_begin_anew() {
        let host = moved();
        let of_another = host.events()[0].id.clone();
        for (call, status) in [
            (TestCall::get("/v1/events?after=event_none"), 410),
            (TestCall::get(&format!("/v1/events?after={of_another}")).tenant("rival/test"), 410),
            (TestCall::get("/v1/events?events=order.creatde"), 422),
            (TestCall::get("/v1/events?limit=-1"), 422),
        ] {
            assert_eq!(host.call(call).status, status);
        }
    }
}
