//! What the page shows. Owns what follows from it without a word: what is still due, whether to send anything, where to go then.

use crate::rules::amount::{Money, Units};
use crate::rules::asset::Asset;
use crate::rules::blockchain::Blockchain;
use crate::rules::network::Network;

/// One payment that a link asks for. Texts are as the link has them.
#[derive(Clone, Debug)]
pub struct Payment {
    /// Who asks, or for what.
    pub name: String,
    pub description: Option<String>,
    pub asset: Asset,
    /// `None`: the payer chooses.
    pub amount: Option<Units>,
    pub blockchain: Blockchain,
    pub network: Network,
    pub address: String,
    pub status: Status,
    /// When nobody may pay any more.
    pub expires_ms: Option<u64>,
    /// Shown when it is paid.
    pub success_message: Option<String>,
    /// Shown when the link is closed.
    pub inactive_message: Option<String>,
    /// Where the payer goes when it is paid.
    pub redirect_url: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing has been seen.
    Waiting,
    /// On the blockchain, and not yet final.
    Seen {
        confirmations: u32,
        required: u32,
    },
    /// Final, and less than asked for.
    Underpaid {
        received: Units,
    },
    Paid,
    /// Final, and more than asked for.
    Overpaid {
        received: Units,
    },
    Expired,
    /// Closed by whoever made the link.
    Inactive,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Status::Waiting => "waiting",
            Status::Seen { .. } => "seen",
            Status::Underpaid { .. } => "underpaid",
            Status::Paid => "paid",
            Status::Overpaid { .. } => "overpaid",
            Status::Expired => "expired",
            Status::Inactive => "inactive",
        }
    }

    pub fn is_paid(self) -> bool {
        matches!(self, Status::Paid | Status::Overpaid { .. })
    }

    /// Whether anything should be sent now.
    pub fn is_open(self) -> bool {
        matches!(self, Status::Waiting | Status::Underpaid { .. })
    }

    /// Whether nothing more is going to happen.
    pub fn is_over(self) -> bool {
        self.is_paid() || matches!(self, Status::Expired | Status::Inactive)
    }
}

impl Payment {
    /// What is still to be sent; nothing where the payer chooses, or nothing is to be sent now.
    pub fn due(&self) -> Option<Units> {
        match self.status {
            Status::Waiting => self.amount,
            Status::Underpaid { received } => Some(self.amount?.saturating_sub(received)),
            _ => None,
        }
    }

    /// Without its symbol: what is copied into a wallet.
    pub fn decimal(&self, units: Units) -> String {
        Money::new(self.asset, units).to_decimal()
    }

    /// Where the payer is led now. Anything but an address of the web leads nowhere.
    pub fn onward(&self) -> Option<&str> {
        self.redirect_url.as_deref().filter(|url| self.status.is_paid() && host_of(url).is_some())
    }
}

/// The host, with its port, of an address that a browser takes as it stands: no other scheme, nobody's name in front of the host,
/// nothing that it would read as something else.
pub fn host_of(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let host = rest.split(['/', '?', '#']).next()?;
    let is_plain = !url.contains(|one: char| one.is_whitespace() || one.is_control() || one == '\\');
    (is_plain && !host.is_empty() && !host.contains('@')).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::super::tests::payment;
    use super::*;

    #[test]
    fn what_is_still_due_shrinks_with_what_has_come() {
        let units = |due: u128| Some(Units::new(due));
        let due = |status| Payment { status, amount: units(25), ..payment() }.due();
        assert_eq!(due(Status::Waiting), units(25));
        assert_eq!(due(Status::Underpaid { received: Units::new(10) }), units(15));
        assert_eq!(Payment { amount: None, status: Status::Waiting, ..payment() }.due(), None);
    }

    #[test]
    fn a_payer_is_led_on_to_the_web_alone_and_when_paid() {
        let onward = |status, url: &str| {
            Payment { status, redirect_url: Some(url.to_owned()), ..payment() }.onward().map(str::to_owned)
        };
        let shop = "https://shop.example:8443/thanks?order=1;x=2#top";
        assert_eq!(onward(Status::Paid, shop).as_deref(), Some(shop));
        assert!(onward(Status::Overpaid { received: Units::new(1) }, "http://shop.example").is_some());
        for status in [Status::Waiting, Status::Expired, Status::Seen { confirmations: 1, required: 2 }] {
            assert_eq!(onward(status, shop), None, "{status:?}");
        }
        for url in [
            "javascript:alert(1)",
            "data:text/html,x",
            "//shop.example",
            "/thanks",
            "",
            "https://",
            "https:///thanks",
            "https://bank.example@shop.example",
            "https://shop.example\\@bank.example",
            "https://shop.example/\u{0}",
            "java\nscript:alert(1)",
            " https://shop.example",
        ] {
            assert_eq!(onward(Status::Paid, url), None, "{url:?}");
        }
    }

    #[test]
    fn the_host_is_what_stands_between_the_scheme_and_the_path() {
        assert_eq!(host_of("https://shop.example:8443/thanks"), Some("shop.example:8443"));
        assert_eq!(host_of("http://shop.example?x=/y"), Some("shop.example"));
    }
}
