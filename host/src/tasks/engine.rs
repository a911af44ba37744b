//! The loop around the agenda. It receives commit notifications and starts workers for the task queues that have
//! something due.
//!
//! The engine is one Tokio task, and each queue with due records has a worker task. The loop itself never waits for a
//! plugin or a remote server.

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
    queue::{self, Inbox},
};
use crate::{
    changes::timer::{TaskKind, TaskQueue},
    clock::Timestamp,
    commit::committer::CommitNotification,
    db::{DbError, apply::HostRecord},
    limits::{TASK_PAUSE_MS, TASKS_STOP_MS},
    shutdown::requested,
};

pub(super) struct Engine {
    shared: Arc<Shared>,
    agenda: Agenda,
    notifications: broadcast::Receiver<Arc<CommitNotification>>,
    /// Inbox of each queue in which a stored record has a due time.
    inboxes: HashMap<TaskQueue, Arc<Inbox>>,
    workers: JoinSet<Option<Timestamp>>,
    /// The queue of each task in `workers`.
    queues_by_task: HashMap<task::Id, TaskQueue>,
    /// A notification was missed, and the database has not been read since.
    must_reload: bool,
}

/// The members of a timer or an effect that decide when it is due and which queue it belongs to.
#[derive(Deserialize)]
struct Due {
    due: Option<Timestamp>,
    /// Present in effects only, like `progress`.
    call: Option<CallPart>,
    progress: Option<ProgressPart>,
}

#[derive(Deserialize)]
struct CallPart {
    destination: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ProgressPart {
    under_way: bool,
}

impl Engine {
    pub async fn open(shared: Arc<Shared>) -> Result<Engine, DbError> {
        // Subscribed before the database is read, so that no commit is missed in between.
        let notifications = shared.parts.committer.subscribe();
        let mut engine = Engine {
            shared,
            agenda: Agenda::default(),
            notifications,
            inboxes: HashMap::new(),
            workers: JoinSet::new(),
            queues_by_task: HashMap::new(),
            must_reload: false,
        };
        engine.reload().await?;
        Ok(engine)
    }

    pub async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let clock = self.shared.parts.clock.clone();
        let mut moves = clock.moves();
        loop {
            if self.must_reload {
                self.try_reload().await;
            }
            self.start_workers(clock.now());
            let wait = self.agenda.wake_at().map(|at| Duration::from_millis(at.saturating_sub(clock.now())));
            tokio::select! {
                biased;
                () = requested(&mut stopped) => break,
                notification = self.notifications.recv() => self.on_commit(notification).await,
                Some(ended) = self.workers.join_next_with_id() => self.finish_queue(ended),
                () = sleep(wait.unwrap_or_default()), if wait.is_some() => {}
                () = sleep(Duration::from_millis(TASK_PAUSE_MS)), if self.must_reload => {}
                () = moves.next() => self.wake_all(),
            }
        }
        self.shut_down().await;
    }

    /// Waits up to `TASKS_STOP_MS` until the outcome of running work is written. Work that is cut off is repeated at
    /// the next start.
    async fn shut_down(mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        self.wake_all();
        let all = async { while self.workers.join_next().await.is_some() {} };
        if timeout(Duration::from_millis(TASKS_STOP_MS), all).await.is_err() {
            tracing::info!("cut off running tasks or outgoing calls; they are repeated at the next start");
        }
        self.workers.shutdown().await;
    }

    fn wake_all(&self) {
        self.inboxes.values().for_each(|inbox| inbox.wake());
    }

    fn start_workers(&mut self, now: Timestamp) {
        while let Some(queue) = self.agenda.next(now) {
            let inbox = self.inboxes.entry(queue.clone()).or_default().clone();
            let (shared, name) = (self.shared.clone(), queue.clone());
            let handle = self.workers.spawn(async move { queue::work(shared, &queue, &inbox).await });
            self.queues_by_task.insert(handle.id(), name);
        }
    }

    fn finish_queue(&mut self, ended: Result<(task::Id, Option<Timestamp>), JoinError>) {
        let (id, next) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!("worker of a task queue failed: {error}");
                (error.id(), Some(self.shared.parts.clock.now().saturating_add(TASK_PAUSE_MS)))
            }
        };
        let Some(queue) = self.queues_by_task.remove(&id) else { return };
        let next = match self.inboxes.get(&queue) {
            Some(inbox) => inbox.finish(next),
            None => next,
        };
        if next.is_none() {
            self.inboxes.remove(&queue);
        }
        self.agenda.finish(&queue, next);
    }

    async fn on_commit(&mut self, notification: Result<Arc<CommitNotification>, RecvError>) {
        match notification.as_deref() {
            Ok(CommitNotification::Durable(outgoing)) => {
                outgoing.host_records.iter().for_each(|record| self.take(record))
            }
            Ok(CommitNotification::Unknown) | Err(RecvError::Lagged(_)) => self.must_reload = true,
            // The committer is gone, so the host is stopping.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }

    async fn try_reload(&mut self) {
        match self.reload().await {
            Ok(()) => self.must_reload = false,
            Err(error) => tracing::error!(%error, "failed to read due tasks"),
        }
    }

    fn take(&mut self, record: &HostRecord) {
        let (Some(_), Some(body)) = (TaskKind::of(&record.collection), &record.body) else { return };
        let Ok(Due { due: Some(due), call, progress }) = serde_json::from_str(body) else { return };
        // The worker that began the attempt checks the record again when the attempt ends.
        if !progress.is_some_and(|progress| progress.under_way) {
            let destination = call.map(|call| call.destination.into());
            self.note(TaskQueue { scope: record.scope.clone(), destination }, due, Some(&record.id));
        }
    }

    /// Schedules the queue because a record of it is due at `due`. Without `id`, any record may be due.
    fn note(&mut self, queue: TaskQueue, due: Timestamp, id: Option<&Arc<str>>) {
        self.agenda.schedule(&queue, due);
        self.inboxes.entry(queue).or_default().put(due, id, self.shared.parts.clock.now());
    }

    /// Reads the earliest due time of each queue from the database: at the start and after missed notifications.
    async fn reload(&mut self) -> Result<(), DbError> {
        for (queue, due) in self.shared.parts.database.list_due_task_queues().await? {
            self.note(queue, due, None);
        }
        Ok(())
    }
}
