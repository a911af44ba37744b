//! The loop around the agenda: news of commits go in, lines that have something due are set to work.
//!
//! One task, and one for each line at work; nothing in the loop waits for a plugin or for somebody else's server.

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde::Deserialize;
use tokio::{
    sync::{
        Notify,
        broadcast::{self, error::RecvError},
        watch,
    },
    task::{JoinError, JoinSet},
    time::sleep,
};

use super::{
    Shared,
    agenda::{Agenda, Line},
    line,
};
use crate::{
    changes::{change_set::Timestamp, committer::News, timer::TaskKind},
    db::{DbError, apply::HostRecord},
    limits::TASK_PAUSE_MS,
    stop::told,
};

pub(super) struct Engine {
    shared: Arc<Shared>,
    agenda: Agenda,
    news: broadcast::Receiver<Arc<News>>,
    /// With what each of them is told that there is more.
    working: HashMap<Line, Arc<Notify>>,
    lines: JoinSet<(Line, Option<Timestamp>)>,
}

/// The one member of a record that says when.
#[derive(Deserialize)]
struct Due {
    due: Option<Timestamp>,
}

impl Engine {
    pub async fn open(shared: Arc<Shared>) -> Result<Engine, DbError> {
        // Before the database is read: what is committed meanwhile is heard.
        let news = shared.parts.committer.follow();
        let mut engine =
            Engine { shared, agenda: Agenda::default(), news, working: HashMap::new(), lines: JoinSet::new() };
        engine.reload().await?;
        Ok(engine)
    }

    pub async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let clock = self.shared.parts.clock.clone();
        let mut moves = clock.moves();
        loop {
            self.start_lines(clock.now());
            let wait = self.agenda.wake_at().map(|at| Duration::from_millis(at.saturating_sub(clock.now())));
            tokio::select! {
                biased;
                () = told(&mut stopped) => break,
                news = self.news.recv() => self.hear(news).await,
                Some(ended) = self.lines.join_next() => self.rest(ended),
                () = sleep(wait.unwrap_or_default()), if wait.is_some() => {}
                () = moves.next() => self.working.values().for_each(|more| more.notify_one()),
            }
        }
        self.lines.shutdown().await;
    }

    #[expect(clippy::disallowed_methods, reason = "one task for each line at work; `run` ends them")]
    fn start_lines(&mut self, now: Timestamp) {
        while let Some(line) = self.agenda.next(now) {
            let more = Arc::new(Notify::new());
            self.working.insert(line.clone(), more.clone());
            let shared = self.shared.clone();
            self.lines.spawn(async move {
                let next = line::work(shared, &line, &more).await;
                (line, next)
            });
        }
    }

    fn rest(&mut self, ended: Result<(Line, Option<Timestamp>), JoinError>) {
        match ended {
            Ok((line, next)) => {
                self.working.remove(&line);
                self.agenda.rests(&line, next);
            }
            Err(error) => tracing::error!("a line of tasks ended badly: {error}"),
        }
    }

    async fn hear(&mut self, news: Result<Arc<News>, RecvError>) {
        match news.as_deref() {
            Ok(News::Durable(outgoing)) => outgoing.host_records.iter().for_each(|record| self.take(record)),
            Ok(News::Unknown) | Err(RecvError::Lagged(_)) => {
                while let Err(error) = self.reload().await {
                    tracing::error!(%error, "what is due cannot be read yet");
                    sleep(Duration::from_millis(TASK_PAUSE_MS)).await;
                }
            }
            // The committer is gone, and the host with it.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }

    fn take(&mut self, record: &HostRecord) {
        let (Some(kind), Some(body)) = (TaskKind::of(&record.collection), &record.body) else { return };
        if let Ok(Due { due: Some(due) }) = serde_json::from_str(body) {
            self.note(Line { kind, scope: record.scope.clone() }, due);
        }
    }

    fn note(&mut self, line: Line, due: Timestamp) {
        if self.agenda.note(&line, due)
            && let Some(more) = self.working.get(&line)
        {
            more.notify_one();
        }
    }

    /// At the start, and where news was missed.
    async fn reload(&mut self) -> Result<(), DbError> {
        for (kind, scope, due) in self.shared.parts.database.list_due_lines().await? {
            self.note(Line { kind, scope }, due);
        }
        Ok(())
    }
}
