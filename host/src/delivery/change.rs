//! What the host itself changes about an endpoint or its deliveries: a change like any other, through the committer, so that
//! the plugin that looks at the endpoint sees it, and two who change it at the same time do not undo each other.

use std::sync::Arc;

use crate::changes::{endpoint::Disabled, operator_action::OperatorAction, scope::Scope};
use crate::clock::Timestamp;
use crate::commit::{
    committer::Committer,
    draft::{Draft, DraftError},
    own::{self, Host, OwnError},
};

#[derive(Clone, Debug)]
pub enum Change {
    /// It failed for too long, or said that it is gone. Unless it is disabled already, or was changed to be.
    Disable(Disabled),
    /// Once more, now.
    Redeliver { event: Arc<str> },
    /// Once more, everything that was given up since then.
    Recover { since: Timestamp },
}

/// To one endpoint.
struct ToEndpoint<'a> {
    endpoint: &'a str,
    change: &'a Change,
}

impl own::Change for ToEndpoint<'_> {
    type Made = ();

    async fn make(&self, draft: &mut Draft) -> Result<Option<()>, DraftError> {
        let made = match self.change {
            Change::Disable(disabled) => {
                let found = draft.find_endpoint(self.endpoint).await?;
                let Some(mut entry) = found.filter(|entry| entry.endpoint.is_active()) else { return Ok(None) };
                entry.endpoint.disabled = Some(disabled.clone());
                // It is there, so it is not one too many.
                draft.put_endpoint(self.endpoint, &entry.endpoint).await?.is_ok()
            }
            Change::Redeliver { event } => draft.redeliver(self.endpoint, event).await?,
            Change::Recover { since } => draft.recover(self.endpoint, *since).await?,
        };
        Ok(made.then_some(()))
    }
}

/// The same for an operator, with a line in the operators' journal.
pub async fn change_for_operator(
    committer: &Committer,
    scope: &Scope,
    endpoint: &str,
    change: &Change,
    action: OperatorAction,
) -> Result<bool, OwnError> {
    let made = Host::for_operator(committer, scope, action)?.apply(&ToEndpoint { endpoint, change }).await?;
    Ok(made.is_some())
}

/// Whether there was something to change. Durable when it returns.
pub async fn change(
    committer: &Committer,
    scope: &Scope,
    endpoint: &str,
    change: &Change,
    now: Timestamp,
) -> Result<bool, OwnError> {
    let made = Host::new(committer, scope, now)?.apply(&ToEndpoint { endpoint, change }).await?;
    Ok(made.is_some())
}
