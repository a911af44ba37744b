//! Requests of a customer. Each has a reference where the interface accepts one, so that it can be repeated.

use anyhow::Context;
use serde_json::{Value, json};

use super::{
    random::Random,
    scenario::{ACCOUNTS, AddressKind, INSTITUTION, NETWORKS, Network, WalletSetup, external_address},
};
use crate::wallet::{Caller, text};

/// Prefix of every reference of a customer. The interface generates other references itself.
pub const REFERENCE_PREFIX: &str = "ref-";
const RECIPIENTS_MAX: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Withdraw,
    Batch,
    FromAddress,
    Swap,
    IntoGateway,
    OutOfGateway,
    Payout,
    Sign,
    Cancel,
    Retry,
    Sweep,
}

/// Weights in percent.
const OPERATIONS: [(Operation, u64); 11] = [
    (Operation::Withdraw, 28),
    (Operation::Batch, 8),
    (Operation::FromAddress, 14),
    (Operation::Swap, 12),
    (Operation::IntoGateway, 8),
    (Operation::OutOfGateway, 6),
    (Operation::Payout, 8),
    (Operation::Sign, 3),
    (Operation::Cancel, 5),
    (Operation::Retry, 6),
    (Operation::Sweep, 2),
];

/// A request.
#[derive(Clone, Debug)]
pub struct WalletRequest {
    pub path: String,
    pub body: Value,
    /// References of the transactions that it creates.
    pub references: Vec<String>,
    /// A conflict is a valid response, because the transaction may have changed already.
    pub may_conflict: bool,
}

impl Operation {
    pub fn draw(random: &mut Random) -> Operation {
        let mut left = random.below(OPERATIONS.iter().map(|(_, weight)| weight).sum());
        let drawn = OPERATIONS.iter().find(|(_, weight)| {
            let is_drawn = left < *weight;
            left = left.saturating_sub(*weight);
            is_drawn
        });
        drawn.map_or(Operation::Withdraw, |(operation, _)| *operation)
    }
}

/// Parameters of a request.
pub struct RequestBuilder<'a> {
    pub setup: &'a WalletSetup,
    /// Reference of the request. References of a batch are derived from it.
    pub reference: String,
    pub random: Random,
    /// Id of the last withdrawal of this customer.
    pub last: Option<&'a str>,
}

impl RequestBuilder<'_> {
    /// Builds a request. Returns `None` if the operation is not possible now.
    pub async fn build(mut self, operation: Operation, caller: &mut Caller) -> anyhow::Result<Option<WalletRequest>> {
        let RequestBuilder { setup: WalletSetup { network, wallet, .. }, last, .. } = &self;
        Ok(match operation {
            Operation::Withdraw => Some(self.withdraw(wallet.path("/withdraw"))),
            Operation::Batch => Some(self.batch()),
            Operation::FromAddress => self.withdraw_from_address(),
            Operation::Swap => Some(self.swap()),
            Operation::IntoGateway if network.has_gateway => {
                let amount = self.amount(&[]);
                Some(self.with_reference(wallet.path("/gateway/deposit"), json!({ "amount": amount })))
            }
            Operation::OutOfGateway if network.has_gateway => Some(self.out_of_gateway()),
            Operation::IntoGateway | Operation::OutOfGateway => None,
            Operation::Payout => self.payout(caller).await?,
            Operation::Sign => {
                let body = json!({ "message": format!("signed for {}", self.reference) });
                Some(self.with_reference(wallet.path("/signing/message"), body))
            }
            Operation::Cancel => last.map(|id| change(wallet.path(&format!("/transactions/{id}/cancel")))),
            Operation::Retry => self.retry(caller).await?,
            Operation::Sweep => Some(change(wallet.path("/sweep/assets"))),
        })
    }

    /// Returns a request with the reference of this builder.
    fn with_reference(&self, path: String, mut body: Value) -> WalletRequest {
        if let Some(members) = body.as_object_mut() {
            members.insert("reference".to_owned(), self.reference.clone().into());
        }
        WalletRequest { path, body, references: vec![self.reference.clone()], may_conflict: false }
    }

    /// Returns an amount. In 20 % of the cases it ends with one of `failing`, which fail on purpose
    /// (docs/wallet/providers.md).
    fn amount(&mut self, failing: &[&str]) -> String {
        let whole = 1 + self.random.below(9);
        let part = match self.random.choose(failing) {
            Some(part) if self.random.percent(20) => part,
            _ => self.random.choose(&["", ".5", ".25"]).copied().unwrap_or_default(),
        };
        format!("{whole}{part}")
    }

    fn token(&mut self) -> &'static str {
        self.random.choose(self.setup.network.tokens).map(|(symbol, _)| *symbol).unwrap_or_default()
    }

    /// Returns a recipient whose address gets no other payment, so that its balance shows how often it was paid.
    fn recipient(&mut self, reference: &str) -> Value {
        let (asset, amount) = (self.token(), self.amount(&[]));
        json!({
            "asset_id": self.setup.asset(asset), "amount": amount, "reference": reference,
            "destination_address": external_address(self.setup.network.blockchain, reference),
        })
    }

    fn withdraw(&mut self, path: String) -> WalletRequest {
        let reference = self.reference.clone();
        let mut body = self.recipient(&reference);
        // An amount above the balance.
        if self.random.percent(3)
            && let Some(amount) = body.get_mut("amount")
        {
            *amount = "99000000".into();
        }
        self.with_reference(path, body)
    }

    fn batch(&mut self) -> WalletRequest {
        let count = 1 + self.random.below(RECIPIENTS_MAX);
        let references: Vec<String> = (0..count).map(|number| format!("{}-{number}", self.reference)).collect();
        let assets: Vec<Value> = references.iter().map(|reference| self.recipient(reference)).collect();
        let path = self.setup.wallet.path("/withdraw");
        WalletRequest { path, body: json!({ "assets": assets }), references, may_conflict: false }
    }

    fn withdraw_from_address(&mut self) -> Option<WalletRequest> {
        let kind = self.random.choose(&[AddressKind::Resting, AddressKind::Gasless]).copied()?;
        let address = self.setup.address(kind)?;
        Some(self.withdraw(self.setup.wallet.path(&format!("/addresses/{}/withdraw", address.id))))
    }

    fn swap(&mut self) -> WalletRequest {
        let (setup, network) = (self.setup, self.setup.network);
        let sold = network.tokens.first().map(|(symbol, _)| *symbol).unwrap_or_default();
        let settlement_order = self.random.choose(&["FASTEST", "CHEAPEST", "RECOMMENDED", "NO_SLIPPAGE"]).copied();
        let amount = self.amount(&[".13", ".15", ".16"]);
        let body = json!({
            "from_asset_id": setup.asset(sold), "to_asset_id": setup.asset(network.bought), "amount": amount,
            "settlement_order": settlement_order,
        });
        self.with_reference(setup.wallet.path("/swap"), body)
    }

    /// Builds a withdrawal from the gateway to a blockchain that has one: to the wallet, or to an external address.
    fn out_of_gateway(&mut self) -> WalletRequest {
        let networks: Vec<&Network> = NETWORKS.iter().filter(|network| network.has_gateway).collect();
        let chain = self.random.choose(&networks).map(|network| network.blockchain).unwrap_or_default();
        let mut body = json!({ "amount": self.amount(&[".13"]), "destination_chain": chain });
        if self.random.percent(40)
            && let Some(members) = body.as_object_mut()
        {
            members.insert("destination_address".to_owned(), external_address(chain, &self.reference).into());
        }
        self.with_reference(self.setup.wallet.path("/gateway/withdraw"), body)
    }

    /// Builds a payout after requesting and accepting a quote. Returns `None` if either request fails, for example
    /// because a provider does not respond or the balance is too low.
    async fn payout(&mut self, caller: &mut Caller) -> anyhow::Result<Option<WalletRequest>> {
        let (setup, wallet) = (self.setup, &self.setup.wallet);
        let account = self.random.choose(&[ACCOUNTS[0], ACCOUNTS[0], ACCOUNTS[1]]).copied();
        let sold = setup.network.tokens.first().map(|(symbol, _)| *symbol).unwrap_or_default();
        let mut body = json!({
            "asset_id": setup.asset(sold), "amount": self.amount(&[".13", ".15"]), "currency": "NGN",
            "institution_identifier": INSTITUTION, "account_identifier": account,
        });
        let quoted = caller.send("POST", &wallet.path("/withdraw/fiat/quote"), &body).await?;
        if quoted.status != 201 {
            return Ok(None);
        }
        let quote = text(quoted.json().get("data").context("a quote without data")?, "quote_id")?;
        let path = wallet.path(&format!("/withdraw/fiat/quotes/{quote}/accept"));
        if caller.send("POST", &path, &json!({})).await?.status != 200 {
            return Ok(None);
        }
        if let Some(members) = body.as_object_mut() {
            members.insert("quote_id".to_owned(), quote.into());
        }
        Ok(Some(self.with_reference(wallet.path("/withdraw/fiat/execute"), body)))
    }

    /// Builds a retry of a failed transaction that is no deposit and that no other transaction continues. Returns
    /// `None` if there is none.
    async fn retry(&mut self, caller: &mut Caller) -> anyhow::Result<Option<WalletRequest>> {
        let wallet = &self.setup.wallet;
        let response = caller.send("GET", &wallet.path("/transactions?status=failed&limit=20"), &Value::Null).await?;
        let found = response.json().get("data").and_then(Value::as_array).cloned().unwrap_or_default();
        let is_unfinished = |row: &&Value| {
            row.get("continuedBy").is_none_or(Value::is_null) && row.get("type").is_some_and(|kind| kind != "DEPOSIT")
        };
        let unfinished: Vec<&Value> = found.iter().filter(is_unfinished).collect();
        let Some(failed) = self.random.choose(&unfinished) else { return Ok(None) };
        Ok(Some(change(wallet.path(&format!("/transactions/{}/retry", text(failed, "id")?)))))
    }
}

/// Returns a request without a reference, for state that may have changed already.
fn change(path: String) -> WalletRequest {
    WalletRequest { path, body: json!({}), references: Vec::new(), may_conflict: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_drawn_with_their_weights() {
        let mut random = Random::from_parts(1);
        let drawn: Vec<Operation> = (0..10_000).map(|_| Operation::draw(&mut random)).collect();
        for (operation, weight) in OPERATIONS {
            let times = drawn.iter().filter(|drawn| **drawn == operation).count() as u64;
            assert!((weight * 70..=weight * 130).contains(&times), "{operation:?}: {times}");
        }
    }
}
