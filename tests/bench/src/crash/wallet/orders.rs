//! What a customer may ask for, as requests: each has a reference where the interface takes one, so that it can be repeated.

use anyhow::Context;
use serde_json::{Value, json};

use super::{
    chance::Chance,
    scene::{ACCOUNTS, Facts, INSTITUTION, NETWORKS, Place, Sort, stranger},
};
use crate::wallet::{Caller, text};

/// In front of every reference that a customer gives: the interface makes others itself.
pub const OURS: &str = "ref-";
const RECIPIENTS_MAX: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
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

/// How often, of a hundred.
const WISHES: [(Wish, u64); 11] = [
    (Wish::Withdraw, 28),
    (Wish::Batch, 8),
    (Wish::FromAddress, 14),
    (Wish::Swap, 12),
    (Wish::IntoGateway, 8),
    (Wish::OutOfGateway, 6),
    (Wish::Payout, 8),
    (Wish::Sign, 3),
    (Wish::Cancel, 5),
    (Wish::Retry, 6),
    (Wish::Sweep, 2),
];

/// One request.
#[derive(Clone, Debug)]
pub struct Ask {
    pub path: String,
    pub body: Value,
    /// One for each transaction that it makes.
    pub references: Vec<String>,
    /// It may be too late for it.
    pub may_conflict: bool,
}

impl Wish {
    pub fn draw(chance: &mut Chance) -> Wish {
        let mut left = chance.below(WISHES.iter().map(|(_, weight)| weight).sum());
        let drawn = WISHES.iter().find(|(_, weight)| {
            let is_it = left < *weight;
            left = left.saturating_sub(*weight);
            is_it
        });
        drawn.map_or(Wish::Withdraw, |(wish, _)| *wish)
    }
}

/// What a request is made of.
pub struct Order<'a> {
    pub place: &'a Place,
    /// Of the request; others are made of it.
    pub reference: String,
    pub chance: Chance,
    /// The last withdrawal of this customer.
    pub last: Option<&'a str>,
}

impl Order<'_> {
    /// `None`: there is nothing to ask for.
    pub async fn ask(mut self, wish: Wish, caller: &mut Caller) -> anyhow::Result<Option<Ask>> {
        let Order { place: Place { facts, wallet, .. }, last, .. } = &self;
        Ok(match wish {
            Wish::Withdraw => Some(self.withdraw(wallet.path("/withdraw"))),
            Wish::Batch => Some(self.batch()),
            Wish::FromAddress => self.withdraw_from_address(),
            Wish::Swap => Some(self.swap()),
            Wish::IntoGateway if facts.has_gateway => {
                let amount = self.amount(&[]);
                Some(self.once(wallet.path("/gateway/deposit"), json!({ "amount": amount })))
            }
            Wish::OutOfGateway if facts.has_gateway => Some(self.out_of_gateway()),
            Wish::IntoGateway | Wish::OutOfGateway => None,
            Wish::Payout => self.payout(caller).await?,
            Wish::Sign => {
                let body = json!({ "message": format!("signed for {}", self.reference) });
                Some(self.once(wallet.path("/signing/message"), body))
            }
            Wish::Cancel => last.map(|id| late(wallet.path(&format!("/transactions/{id}/cancel")))),
            Wish::Retry => self.retry(caller).await?,
            Wish::Sweep => Some(late(wallet.path("/sweep/assets"))),
        })
    }

    /// With the reference of the request.
    fn once(&self, path: String, mut body: Value) -> Ask {
        if let Some(members) = body.as_object_mut() {
            members.insert("reference".to_owned(), self.reference.clone().into());
        }
        Ask { path, body, references: vec![self.reference.clone()], may_conflict: false }
    }

    /// Seldom one of those that go wrong on purpose (docs/wallet/providers.md).
    fn amount(&mut self, wrong: &[&str]) -> String {
        let whole = 1 + self.chance.below(9);
        let part = match self.chance.one_of(wrong) {
            Some(part) if self.chance.percent(20) => part,
            _ => self.chance.one_of(&["", ".5", ".25"]).copied().unwrap_or_default(),
        };
        format!("{whole}{part}")
    }

    fn token(&mut self) -> &'static str {
        self.chance.one_of(self.place.facts.tokens).map(|(symbol, _)| *symbol).unwrap_or_default()
    }

    /// To somebody who gets nothing else, so that what came there says how often it was paid.
    fn recipient(&mut self, reference: &str) -> Value {
        let (asset, amount) = (self.token(), self.amount(&[]));
        json!({
            "asset_id": self.place.asset(asset), "amount": amount, "reference": reference,
            "destination_address": stranger(self.place.facts.blockchain, reference),
        })
    }

    fn withdraw(&mut self, path: String) -> Ask {
        let reference = self.reference.clone();
        let mut body = self.recipient(&reference);
        // More than there is.
        if self.chance.percent(3)
            && let Some(amount) = body.get_mut("amount")
        {
            *amount = "99000000".into();
        }
        self.once(path, body)
    }

    fn batch(&mut self) -> Ask {
        let count = 1 + self.chance.below(RECIPIENTS_MAX);
        let references: Vec<String> = (0..count).map(|number| format!("{}-{number}", self.reference)).collect();
        let assets: Vec<Value> = references.iter().map(|reference| self.recipient(reference)).collect();
        let path = self.place.wallet.path("/withdraw");
        Ask { path, body: json!({ "assets": assets }), references, may_conflict: false }
    }

    fn withdraw_from_address(&mut self) -> Option<Ask> {
        let sort = self.chance.one_of(&[Sort::Resting, Sort::Gasless]).copied()?;
        let address = self.place.address(sort)?;
        Some(self.withdraw(self.place.wallet.path(&format!("/addresses/{}/withdraw", address.id))))
    }

    fn swap(&mut self) -> Ask {
        let (place, facts) = (self.place, self.place.facts);
        let sold = facts.tokens.first().map(|(symbol, _)| *symbol).unwrap_or_default();
        let order = self.chance.one_of(&["FASTEST", "CHEAPEST", "RECOMMENDED", "NO_SLIPPAGE"]).copied();
        let amount = self.amount(&[".13", ".15", ".16"]);
        let body = json!({
            "from_asset_id": place.asset(sold), "to_asset_id": place.asset(facts.bought), "amount": amount,
            "settlement_order": order,
        });
        self.once(place.wallet.path("/swap"), body)
    }

    /// To the wallet of one of the blockchains that have it, or to a stranger there.
    fn out_of_gateway(&mut self) -> Ask {
        let there: Vec<&Facts> = NETWORKS.iter().filter(|facts| facts.has_gateway).collect();
        let chain = self.chance.one_of(&there).map(|facts| facts.blockchain).unwrap_or_default();
        let mut body = json!({ "amount": self.amount(&[".13"]), "destination_chain": chain });
        if self.chance.percent(40)
            && let Some(members) = body.as_object_mut()
        {
            members.insert("destination_address".to_owned(), stranger(chain, &self.reference).into());
        }
        self.once(self.place.wallet.path("/gateway/withdraw"), body)
    }

    /// Quoted and accepted first. `None` where somebody does not answer, or has too little.
    async fn payout(&mut self, caller: &mut Caller) -> anyhow::Result<Option<Ask>> {
        let (place, wallet) = (self.place, &self.place.wallet);
        let account = self.chance.one_of(&[ACCOUNTS[0], ACCOUNTS[0], ACCOUNTS[1]]).copied();
        let sold = place.facts.tokens.first().map(|(symbol, _)| *symbol).unwrap_or_default();
        let mut body = json!({
            "asset_id": place.asset(sold), "amount": self.amount(&[".13", ".15"]), "currency": "NGN",
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
        Ok(Some(self.once(wallet.path("/withdraw/fiat/execute"), body)))
    }

    /// One that has failed, and was not continued yet.
    async fn retry(&mut self, caller: &mut Caller) -> anyhow::Result<Option<Ask>> {
        let wallet = &self.place.wallet;
        let answer = caller.send("GET", &wallet.path("/transactions?status=failed&limit=20"), &Value::Null).await?;
        let found = answer.json().get("data").and_then(Value::as_array).cloned().unwrap_or_default();
        let is_open = |row: &&Value| {
            row.get("continuedBy").is_none_or(Value::is_null) && row.get("type").is_some_and(|kind| kind != "DEPOSIT")
        };
        let open: Vec<&Value> = found.iter().filter(is_open).collect();
        let Some(failed) = self.chance.one_of(&open) else { return Ok(None) };
        Ok(Some(late(wallet.path(&format!("/transactions/{}/retry", text(failed, "id")?)))))
    }
}

/// One that changes something that may have changed already.
fn late(path: String) -> Ask {
    Ask { path, body: json!({}), references: Vec::new(), may_conflict: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wish_is_made_about_as_often_as_it_should_be() {
        let mut chance = Chance::of(1);
        let drawn: Vec<Wish> = (0..10_000).map(|_| Wish::draw(&mut chance)).collect();
        for (wish, weight) in WISHES {
            let times = drawn.iter().filter(|drawn| **drawn == wish).count() as u64;
            assert!((weight * 70..=weight * 130).contains(&times), "{wish:?}: {times}");
        }
    }
}
