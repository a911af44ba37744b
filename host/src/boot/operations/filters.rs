//! Names in the filters of operators' lists. A list that is empty because of a misspelled name is refused, with the names that
//! there are.
//!
//! Invariant: only empty lists are checked. Lines of a plugin that is gone, and of an older version, are listed.

use super::Connected;
use crate::{
    admin::Refusal, changes::operator_action::ACTIONS, config::is_tenant, plugin::reload::journal::SwapAction,
};

impl Connected {
    /// Checks the filter of a list that has no entries.
    pub(in crate::boot) async fn check_filter(
        &self,
        plugin: Option<&str>,
        tenant: Option<&str>,
    ) -> Result<(), Refusal> {
        if let Some(plugin) = plugin {
            self.find_plugin(plugin).await?;
        }
        match tenant {
            Some(tenant) if !is_tenant(tenant) => Err(invalid_tenant(tenant)),
            _ => Ok(()),
        }
    }
}

pub(in crate::boot) fn invalid_tenant(tenant: &str) -> Refusal {
    Refusal::Invalid {
        message: format!("\"{tenant:.80}\" is no tenant."),
        hint: "Write organization and environment: acme/test or acme/live.".to_owned(),
    }
}

/// Checks the name of an action of the operators' journal.
pub(super) fn check_action(action: &str) -> Result<(), Refusal> {
    let known: Vec<&str> = SwapAction::ALL.into_iter().map(SwapAction::name).chain(ACTIONS).collect();
    if known.contains(&action) {
        return Ok(());
    }
    Err(Refusal::Invalid {
        message: format!("The operators' journal has no action \"{action:.80}\"."),
        hint: format!("There are: {}.", known.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_action_is_refused_with_the_list() {
        for known in ["deploy", "file", "create-key", "restore"] {
            assert_eq!(check_action(known), Ok(()));
        }
        let Err(Refusal::Invalid { message, hint }) = check_action("deplo") else { panic!("deplo is accepted") };
        assert_eq!(message, "The operators' journal has no action \"deplo\".");
        assert!(
            hint.starts_with("There are: start, file, config, deploy, ") && hint.contains(", create-key, "),
            "{hint}"
        );
    }
}
