//! Commands of the host for an endpoint or its deliveries. They pass through the committer like every change, so
//! plugins see their effect, and concurrent changes of an endpoint do not overwrite each other.

use std::sync::Arc;

use crate::changes::{
    endpoint::{Disabled, EndpointId},
    operator_action::OperatorAction,
    scope::Scope,
};
use crate::clock::Timestamp;
use crate::commit::{
    committer::Committer,
    draft::{Draft, DraftError},
    own::{self, Host, OwnError},
};

#[derive(Clone, Debug)]
pub enum EndpointCommand {
    /// Disables an endpoint that failed for too long or responded with 410. Has no effect if it is disabled already.
    Disable(Disabled),
    /// Delivers an event again, now.
    Redeliver { event: Arc<str> },
    /// Delivers again all events whose delivery was given up at `since` or later.
    Recover { since: Timestamp },
}

/// A command for one endpoint.
struct AddressedCommand<'a> {
    endpoint: &'a EndpointId,
    command: &'a EndpointCommand,
}

impl own::Change for AddressedCommand<'_> {
    type Output = ();

    async fn make(&self, draft: &mut Draft) -> Result<Option<()>, DraftError> {
        let is_done = match self.command {
            EndpointCommand::Disable(disabled) => {
                let found = draft.find_endpoint(self.endpoint.as_str()).await?;
                let Some(mut entry) = found.filter(|entry| entry.endpoint.is_active()) else { return Ok(None) };
                entry.endpoint.disabled = Some(disabled.clone());
                // The endpoint exists, so the put cannot exceed the maximum number of endpoints.
                draft.put_endpoint(self.endpoint.as_str(), &entry.endpoint).await?.is_ok()
            }
            EndpointCommand::Redeliver { event } => draft.redeliver(self.endpoint.as_str(), event).await?,
            EndpointCommand::Recover { since } => draft.recover(self.endpoint.as_str(), *since).await?,
        };
        Ok(is_done.then_some(()))
    }
}

/// Applies a command of an operator and adds a line to the operators' journal. Returns false if there was nothing to
/// change.
pub async fn apply_operator_command(
    committer: &Committer,
    scope: &Scope,
    endpoint: &EndpointId,
    command: &EndpointCommand,
    action: OperatorAction,
) -> Result<bool, OwnError> {
    let applied = Host::for_operator(committer, scope, action)?.apply(&AddressedCommand { endpoint, command }).await?;
    Ok(applied.is_some())
}

/// Applies a command. Returns false if there was nothing to change. The change is durable when the call returns.
pub async fn apply_command(
    committer: &Committer,
    scope: &Scope,
    endpoint: &EndpointId,
    command: &EndpointCommand,
    now: Timestamp,
) -> Result<bool, OwnError> {
    let applied = Host::new(committer, scope, now)?.apply(&AddressedCommand { endpoint, command }).await?;
    Ok(applied.is_some())
}
