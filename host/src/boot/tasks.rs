//! What operators ask about tasks and effects, connected: pages out of the database, orders through the committer, each
//! with its line in the journal.

use super::operations::{Connected, failed};
use crate::{
    admin::{
        Refusal,
        operations::TasksQuestion,
        wire::{self, Moment, TaskSort},
    },
    changes::{
        effect::{Effect, Outcome},
        operator_action::OperatorAction,
        scope::Scope,
        timer::{TaskKind, TaskPlace, Timer, Trouble},
    },
    db::tasks::{StoredTask, TaskFilter},
    limits::TASKS_NAMED_MAX,
    tasks::{Intervention, intervene},
};

impl Connected {
    pub(super) async fn survey_tasks(&self, question: TasksQuestion) -> Result<wire::Page<wire::TaskStatus>, Refusal> {
        let TasksQuestion { kind, plugin, tenant, given_up, after, limit } = question;
        let kind = to_kind(kind);
        let after = match &after {
            Some(text) => Some(parse_place(kind, text).ok_or_else(|| wrong_page(text))?),
            None => None,
        };
        let filter = TaskFilter { plugin, tenant, given_up, id: None };
        let found = self.database.survey_tasks(kind, &filter, after.as_ref(), limit).await;
        let found = found.map_err(|error| failed(error.to_string()))?;
        if after.is_none() && found.is_empty() {
            self.check_filter(filter.plugin.as_deref(), filter.tenant.as_deref()).await?;
        }
        let last = found.last().filter(|_| found.len() >= limit as usize);
        let next = last.map(|last| place_text(&last.place));
        Ok(wire::Page { entries: found.iter().map(status).collect::<Result<_, _>>()?, next })
    }

    pub(super) async fn intervene_in_task(
        &self,
        name: wire::TaskName,
        who: String,
        wanted: Intervention,
    ) -> Result<wire::TaskReport, Refusal> {
        let place = self.find_task(name).await?;
        let (plugin, tenant) = (place.scope.plugin().to_string(), place.scope.tenant().to_string());
        let name = match wanted {
            Intervention::Retry => "retry-task",
            Intervention::Drop => "drop-task",
        };
        let target = format!("{} of {tenant}", place.id);
        let action = OperatorAction::done(self.clock.now(), &who, (&plugin, name), target);
        let done = intervene(&self.committer, &place, wanted, action).await;
        if !done.map_err(|error| failed(error.to_string()))? {
            return Err(no_such_task(place.kind, &place.id));
        }
        Ok(wire::TaskReport { plugin, tenant, id: place.id.to_string() })
    }

    /// The one task of that name.
    async fn find_task(&self, name: wire::TaskName) -> Result<TaskPlace, Refusal> {
        let wire::TaskName { kind, plugin, tenant, id } = name;
        let kind = to_kind(kind);
        let filter = TaskFilter { plugin, tenant, given_up: false, id: Some(id.clone()) };
        let found = self.database.survey_tasks(kind, &filter, None, TASKS_NAMED_MAX).await;
        let mut found = found.map_err(|error| failed(error.to_string()))?;
        if found.len() > 1 {
            let reason = |task: &StoredTask| {
                format!("plugin {}, tenant {}", task.place.scope.plugin(), task.place.scope.tenant())
            };
            return Err(Refusal::Refused {
                message: format!("Several are called \"{id}\"."),
                reasons: found.iter().map(reason).collect(),
                hint: "Name plugin and tenant.".to_owned(),
            });
        }
        found.pop().map(|task| task.place).ok_or_else(|| no_such_task(kind, &id))
    }
}

fn to_kind(kind: TaskSort) -> TaskKind {
    match kind {
        TaskSort::Timer => TaskKind::Timer,
        TaskSort::Effect => TaskKind::Effect,
    }
}

/// One text for what the next page begins after.
fn place_text(place: &TaskPlace) -> String {
    serde_json::json!([&**place.scope.plugin(), &**place.scope.tenant(), &*place.id]).to_string()
}

fn parse_place(kind: TaskKind, text: &str) -> Option<TaskPlace> {
    let (plugin, tenant, id): (String, String, String) = serde_json::from_str(text).ok()?;
    Some(TaskPlace { scope: Scope::new(plugin.into(), tenant.into())?, kind, id: id.into() })
}

fn wrong_page(text: &str) -> Refusal {
    let hint = "Send `next` of the page before as it came.".to_owned();
    Refusal::Invalid { message: format!("\"{text:.40}\" is no place in this list."), hint }
}

fn no_such_task(kind: TaskKind, id: &str) -> Refusal {
    let (what, command) = match kind {
        TaskKind::Timer => ("task", "`tenon task list`"),
        TaskKind::Effect => ("effect", "`tenon effect list`"),
    };
    let hint = format!("{command} shows them; one that has run is gone.");
    Refusal::NotFound { message: format!("There is no {what} \"{id}\"."), hint }
}

fn status(stored: &StoredTask) -> Result<wire::TaskStatus, Refusal> {
    let unreadable = |error: serde_json::Error| failed(format!("{} cannot be read: {error}", stored.place.id));
    match stored.place.kind {
        TaskKind::Timer => {
            let timer = Timer::parse(&stored.body).map_err(unreadable)?;
            Ok(task_status(stored, TaskSort::Timer, timer.due, timer.trouble, None))
        }
        TaskKind::Effect => {
            let effect = Effect::parse(&stored.body).map_err(unreadable)?;
            let call = wire::CallStatus {
                destination: effect.call.destination,
                method: effect.call.method,
                path: effect.call.path,
                attempts: effect.progress.attempts,
                failure: effect.progress.failure,
                outcome: effect.outcome.as_ref().map(outcome_words),
            };
            Ok(task_status(stored, TaskSort::Effect, effect.due, effect.trouble, Some(call)))
        }
    }
}

fn task_status(
    stored: &StoredTask,
    kind: TaskSort,
    due: Option<u64>,
    trouble: Trouble,
    call: Option<wire::CallStatus>,
) -> wire::TaskStatus {
    let is_settled = call.as_ref().is_some_and(|call| call.outcome.is_some());
    let state = match (due, is_settled) {
        (None, _) => "given-up",
        (Some(_), true) => "settled",
        (Some(_), false) => "waiting",
    };
    wire::TaskStatus {
        kind,
        plugin: stored.place.scope.plugin().to_string(),
        tenant: stored.place.scope.tenant().to_string(),
        id: stored.place.id.to_string(),
        state: state.to_owned(),
        due_at: due.map(Moment),
        created_at: Moment(stored.created_at),
        faults: trouble.faults,
        fault: trouble.fault,
        call,
    }
}

fn outcome_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Answered(answer) => format!("answered {}", answer.status),
        Outcome::NotSent(why) => format!("not sent: {why}"),
        Outcome::Unknown(why) => format!("unknown: {why}"),
    }
}
