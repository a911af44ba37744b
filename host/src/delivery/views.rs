//! What operators see of lanes: the part that only the running scheduler knows.

use std::{collections::HashMap, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::schedule::{LaneView, Scheduler};
use crate::{db::apply::Lane, limits::LANE_VIEWS_WAIT_MS};

/// Asks the engine. Cheap to clone.
#[derive(Clone)]
pub struct Views(mpsc::Sender<Question>);

/// What the engine is asked.
pub struct Question {
    lanes: Vec<Lane>,
    answer: oneshot::Sender<HashMap<Lane, LaneView>>,
}

impl Views {
    pub fn new() -> (Views, mpsc::Receiver<Question>) {
        let (sender, questions) = mpsc::channel(1);
        (Views(sender), questions)
    }

    /// Lanes that are not open are missing, and all where the engine does not answer: it waits for the database, or has ended.
    pub async fn find(&self, lanes: Vec<Lane>) -> HashMap<Lane, LaneView> {
        let (answer, told) = oneshot::channel();
        let asked = async {
            self.0.send(Question { lanes, answer }).await.ok()?;
            told.await.ok()
        };
        timeout(Duration::from_millis(LANE_VIEWS_WAIT_MS), asked).await.ok().flatten().unwrap_or_default()
    }
}

impl Question {
    pub fn answer(self, scheduler: &Scheduler) {
        let view = |lane: Lane| Some((lane, scheduler.view(lane.cast_unsigned())?));
        // Who asked may have gone.
        let _ = self.answer.send(self.lanes.into_iter().filter_map(view).collect());
    }
}
