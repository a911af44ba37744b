//! `effects`: outgoing calls after the commit. Converts values and checks limits. The draft implements the rest.

use tenon_bindings::tenon::plugin::effects::{self as wit, Host};

use super::{outgoing, trap};
use crate::{
    capability::CallState,
    changes::{
        effect::{Effect, Progress},
        timer::FaultHistory,
    },
    commit::draft::raw,
    limits::{EFFECT_DELAYS_MAX, TASK_DUE_MAX},
};

impl Host for CallState {
    async fn start(&mut self, effect: wit::Effect) -> wasmtime::Result<bool> {
        let size = outgoing::size_of(&effect.call) + effect.then.len() + effect.key.len() + effect.context.len();
        let wait_started = self.meter(size + 4 * effect.delays.len())?;
        self.check_task(&effect.then)?;
        if effect.delays.len() > EFFECT_DELAYS_MAX {
            wasmtime::bail!("an effect has at most {EFFECT_DELAYS_MAX} delays, not {}", effect.delays.len());
        }
        let effect = Effect {
            due: Some(effect.start_at.unwrap_or(0).max(self.now()).min(TASK_DUE_MAX)),
            call: outgoing::call(effect.call, self.draft().call().hops)?,
            then: effect.then,
            key: effect.key,
            context: raw("the context of an effect", effect.context).map_err(trap)?,
            delays: effect.delays,
            give_up_at: effect.give_up_at,
            progress: Progress::default(),
            outcome: None,
            fault_history: FaultHistory::default(),
        };
        let started = self.draft().start_effect(&effect).await.map_err(trap);
        self.end_wait(wait_started).await;
        started
    }

    async fn cancel(&mut self, then: String, key: String) -> wasmtime::Result<bool> {
        let wait_started = self.meter(then.len() + key.len())?;
        self.check_task(&then)?;
        let cancelled = self.draft().cancel_effect(&then, &key).await.map_err(trap);
        self.end_wait(wait_started).await;
        cancelled
    }
}
