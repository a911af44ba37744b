//! The loop around the agenda: news of commits go in, lines that have something due are set to work.
//!
//! One task, and one for each line at work; nothing in the loop waits for a plugin or for somebody else's server.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde::Deserialize;
use tokio::{
    sync::{
        broadcast::{self, error::RecvError},
        watch,
    },
    task::{self, JoinError, JoinSet},
    time::{sleep, timeout},
};

use super::{
    Shared,
    agenda::Agenda,
    line::{self, Inbox},
};
use crate::clock::Timestamp;
use crate::{
    changes::timer::{TaskKind, TaskLine},
    commit::committer::News,
    db::{DbError, apply::HostRecord},
    limits::{TASK_PAUSE_MS, TASKS_STOP_MS},
    stop::told,
};

pub(super) struct Engine {
    shared: Arc<Shared>,
    agenda: Agenda,
    news: broadcast::Receiver<Arc<News>>,
    /// The inbox of each line that has records stored.
    inboxes: HashMap<TaskLine, Arc<Inbox>>,
    lines: JoinSet<Option<Timestamp>>,
    /// Which line a task of `lines` is.
    names: HashMap<task::Id, TaskLine>,
    /// News was missed, and the database has not been read since.
    is_blind: bool,
}

/// What a record says of when and where to.
#[derive(Deserialize)]
struct Due {
    due: Option<Timestamp>,
    /// Of an effect, like its progress.
    call: Option<Called>,
    progress: Option<Reached>,
}

#[derive(Deserialize)]
struct Called {
    destination: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Reached {
    under_way: bool,
}

impl Engine {
    pub async fn open(shared: Arc<Shared>) -> Result<Engine, DbError> {
        // Before the database is read: what is committed meanwhile is heard.
        let news = shared.parts.committer.follow();
        let mut engine = Engine {
            shared,
            agenda: Agenda::default(),
            news,
            inboxes: HashMap::new(),
            lines: JoinSet::new(),
            names: HashMap::new(),
            is_blind: false,
        };
        engine.reload().await?;
        Ok(engine)
    }

    pub async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let clock = self.shared.parts.clock.clone();
        let mut moves = clock.moves();
        loop {
            if self.is_blind {
                self.look().await;
            }
            self.start_lines(clock.now());
            let wait = self.agenda.wake_at().map(|at| Duration::from_millis(at.saturating_sub(clock.now())));
            tokio::select! {
                biased;
                () = told(&mut stopped) => break,
                news = self.news.recv() => self.hear(news).await,
                Some(ended) = self.lines.join_next_with_id() => self.rest(ended),
                () = sleep(wait.unwrap_or_default()), if wait.is_some() => {}
                () = sleep(Duration::from_millis(TASK_PAUSE_MS)), if self.is_blind => {}
                () = moves.next() => self.wake_all(),
            }
        }
        self.finish().await;
    }

    /// What is under way gets a while to be written down; what is cut off is done again at the next start.
    async fn finish(mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        self.wake_all();
        let all = async { while self.lines.join_next().await.is_some() {} };
        if timeout(Duration::from_millis(TASKS_STOP_MS), all).await.is_err() {
            tracing::info!("tasks or outgoing calls are cut off; they are done again at the next start");
        }
        self.lines.shutdown().await;
    }

    fn wake_all(&self) {
        self.inboxes.values().for_each(|inbox| inbox.wake());
    }

    fn start_lines(&mut self, now: Timestamp) {
        while let Some(line) = self.agenda.next(now) {
            let inbox = self.inboxes.entry(line.clone()).or_default().clone();
            let (shared, name) = (self.shared.clone(), line.clone());
            let begun = self.lines.spawn(async move { line::work(shared, &line, &inbox).await });
            self.names.insert(begun.id(), name);
        }
    }

    fn rest(&mut self, ended: Result<(task::Id, Option<Timestamp>), JoinError>) {
        let (id, next) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!("a line of tasks ended badly: {error}");
                (error.id(), Some(self.shared.parts.clock.now().saturating_add(TASK_PAUSE_MS)))
            }
        };
        let Some(line) = self.names.remove(&id) else { return };
        let next = match self.inboxes.get(&line) {
            Some(inbox) => inbox.rest(next),
            None => next,
        };
        if next.is_none() {
            self.inboxes.remove(&line);
        }
        self.agenda.rests(&line, next);
    }

    async fn hear(&mut self, news: Result<Arc<News>, RecvError>) {
        match news.as_deref() {
            Ok(News::Durable(outgoing)) => outgoing.host_records.iter().for_each(|record| self.take(record)),
            Ok(News::Unknown) | Err(RecvError::Lagged(_)) => self.is_blind = true,
            // The committer is gone, and the host with it.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }

    async fn look(&mut self) {
        match self.reload().await {
            Ok(()) => self.is_blind = false,
            Err(error) => tracing::error!(%error, "what is due cannot be read yet"),
        }
    }

    fn take(&mut self, record: &HostRecord) {
        let (Some(_), Some(body)) = (TaskKind::of(&record.collection), &record.body) else { return };
        let Ok(Due { due: Some(due), call, progress }) = serde_json::from_str(body) else { return };
        // Who has begun the attempt has it in hand, and looks again in the end.
        if !progress.is_some_and(|reached| reached.under_way) {
            let destination = call.map(|call| call.destination.into());
            self.note(TaskLine { scope: record.scope.clone(), destination }, due, Some(&record.id));
        }
    }

    /// A record of the line falls due then; without `id`, any may.
    fn note(&mut self, line: TaskLine, due: Timestamp, id: Option<&Arc<str>>) {
        self.agenda.note(&line, due);
        self.inboxes.entry(line).or_default().put(due, id, self.shared.parts.clock.now());
    }

    /// At the start, and where news was missed.
    async fn reload(&mut self) -> Result<(), DbError> {
        for (line, due) in self.shared.parts.database.list_due_lines().await? {
            self.note(line, due, None);
        }
        Ok(())
    }
}
