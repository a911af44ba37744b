//! Where nothing is sent (spec/wallet: Endpoints, conditions): what arrives there is lost, or has never left.

use super::address;
use super::blockchain::Blockchain;
use super::invalid::Rule;

/// What is known of the blockchain, each address in the spelling of `address::read`.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// USDC that is sent there directly is lost.
    pub gateway: Option<String>,
    pub tokens: Vec<String>,
    /// Who sends, where that may not be who receives.
    pub sender: Option<String>,
}

/// `is_usdc`: what is sent.
pub fn check(blockchain: Blockchain, is_usdc: bool, to: &str, known: &Known) -> Result<(), Rule> {
    if is_usdc && known.gateway.as_deref() == Some(to) {
        return Err(Rule::GatewayContract);
    }
    if address::is_nobodys(blockchain, to) {
        return Err(Rule::ZeroAddress);
    }
    if known.tokens.iter().any(|token| token == to) {
        return Err(Rule::TokenContract);
    }
    if known.sender.as_deref() == Some(to) { Err(Rule::Sender) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_goes_to_nobody_to_a_contract_or_back_to_who_sends() {
        let text = str::to_owned;
        let known = Known { gateway: Some(text("g")), tokens: vec![text("t")], sender: Some(text("s")) };
        let zero = "0x0000000000000000000000000000000000000000";
        for (is_usdc, to, expected) in [
            (true, "x", Ok(())),
            (true, "g", Err(Rule::GatewayContract)),
            (false, "g", Ok(())),
            (false, zero, Err(Rule::ZeroAddress)),
            (false, "t", Err(Rule::TokenContract)),
            (true, "s", Err(Rule::Sender)),
        ] {
            assert_eq!(check(Blockchain::Base, is_usdc, to, &known), expected, "{to}");
        }
        assert_eq!(check(Blockchain::Base, true, "s", &Known::default()), Ok(()));
    }
}
