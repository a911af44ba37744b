//! Checks of the names in list filters. If a filter with an unknown name matches nothing, the request fails and lists
//! the known names.
//!
//! Invariant: only the filters of empty lists are checked, so that lines of removed plugins and older versions can be
//! listed.

use super::HostOperations;
use crate::{
    admin::AdminError, changes::operator_action::ACTIONS, config::is_tenant, plugin::reload::journal::SwapAction,
};

impl HostOperations {
    /// Checks the filter of a list that has no entries.
    pub(in crate::boot) async fn check_filter(
        &self,
        plugin: Option<&str>,
        tenant: Option<&str>,
    ) -> Result<(), AdminError> {
        if let Some(plugin) = plugin {
            self.find_plugin(plugin).await?;
        }
        match tenant {
            Some(tenant) if !is_tenant(tenant) => Err(invalid_tenant(tenant)),
            _ => Ok(()),
        }
    }
}

pub(in crate::boot) fn invalid_tenant(tenant: &str) -> AdminError {
    AdminError::Invalid {
        message: format!("\"{tenant:.80}\" is not a valid tenant."),
        hint: "Write organization and environment: acme/test or acme/live.".to_owned(),
    }
}

/// Checks the name of an action of the operators' journal.
pub(super) fn check_action(action: &str) -> Result<(), AdminError> {
    let known: Vec<&str> = SwapAction::ALL.into_iter().map(SwapAction::name).chain(ACTIONS).collect();
    if known.contains(&action) {
        return Ok(());
    }
    Err(AdminError::Invalid {
        message: format!("The operators' journal has no action \"{action:.80}\"."),
        hint: format!("Known actions: {}.", known.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_action_is_rejected_with_the_known_actions() {
        for known in ["deploy", "file", "create-key", "restore"] {
            assert_eq!(check_action(known), Ok(()));
        }
        let Err(AdminError::Invalid { message, hint }) = check_action("deplo") else { panic!("deplo is accepted") };
        assert_eq!(message, "The operators' journal has no action \"deplo\".");
        assert!(
            hint.starts_with("Known actions: start, file, config, deploy, ") && hint.contains(", create-key, "),
            "{hint}"
        );
    }
}
