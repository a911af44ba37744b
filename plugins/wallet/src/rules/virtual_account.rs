//! Virtual accounts (spec/wallet: Conditions): bank account numbers that fill a wallet. They exist on mainnet alone, and for a
//! business whose due diligence is approved.

use super::compliance::{Form, FormState};
use super::network::Network;
use super::refusal::Refusal;

/// Where one stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountState {
    /// The bank has been asked for a number.
    Requested,
    Active,
    /// The client has switched it off; its number stays.
    Inactive,
    /// The bank will not.
    Rejected,
}

/// What can happen to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The bank has given a number, the first or a new one.
    Open,
    Reject,
    Activate,
    Deactivate,
    /// The client wants another number.
    Regenerate,
}

/// Before one is created.
pub fn check(network: Network, due_diligence: FormState) -> Result<(), Refusal> {
    if network != Network::Mainnet {
        return Err(Refusal::VirtualAccountTestnet);
    }
    match due_diligence {
        FormState::Approved => Ok(()),
        _ => Err(Refusal::NotCompliant { form: Form::DueDiligence }),
    }
}

/// `None`: not possible in this state. A repeat stays where it is.
pub fn step(state: AccountState, command: Command) -> Option<AccountState> {
    use AccountState::{Active, Inactive, Rejected, Requested};
    match (state, command) {
        (Requested | Active, Command::Open) => Some(Active),
        (Requested | Rejected, Command::Reject) => Some(Rejected),
        (Active | Inactive, Command::Activate) => Some(Active),
        (Active | Inactive, Command::Deactivate) => Some(Inactive),
        (Active | Requested | Rejected, Command::Regenerate) => Some(Requested),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_accounts_exist_on_mainnet_after_due_diligence() {
        assert_eq!(check(Network::Testnet, FormState::Approved), Err(Refusal::VirtualAccountTestnet));
        let refused = Refusal::NotCompliant { form: Form::DueDiligence };
        assert_eq!(check(Network::Mainnet, FormState::Submitted), Err(refused));
        assert_eq!(check(Network::Mainnet, FormState::Approved), Ok(()));
    }

    #[test]
    fn every_command_in_every_state() {
        use AccountState::{Active, Inactive, Rejected, Requested};
        let commands = [Command::Open, Command::Reject, Command::Activate, Command::Deactivate, Command::Regenerate];
        for (state, expected) in [
            (Requested, [Some(Active), Some(Rejected), None, None, Some(Requested)]),
            (Active, [Some(Active), None, Some(Active), Some(Inactive), Some(Requested)]),
            (Inactive, [None, None, Some(Active), Some(Inactive), None]),
            (Rejected, [None, Some(Rejected), None, None, Some(Requested)]),
        ] {
            assert_eq!(commands.map(|command| step(state, command)), expected, "{state:?}");
        }
    }
}
