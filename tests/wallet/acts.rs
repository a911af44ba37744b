//! What tests of several families do: ask, be refused, hear of one thing, have money, compare one address with its blockchain.

use serde_json::{Value, json};

use super::stage::{Address, Stage, Wallet, signature};
use crate::support::{Response, eventually};

/// What a refusal says: status, code, and the fields that it names.
#[track_caller]
pub fn check_refusal(answer: &Response, (status, code, fields): (u16, &str, &str)) {
    let body = answer.json();
    let named: Vec<&str> = body["errors"].as_array().unwrap().iter().map(|it| it["field"].as_str().unwrap()).collect();
    let said = (answer.status, body["code"].as_str().unwrap(), named.join(" "));
    assert_eq!(said, (status, code, fields.to_owned()), "{body}");
    assert!(body["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
}

/// 400 of this field.
#[track_caller]
pub fn check_invalid(answer: &Response, fields: &str) {
    check_refusal(answer, (400, "SERVICE_VALIDATION_ERROR", fields));
}

/// The fields that the specification names are there, and filled.
#[track_caller]
pub fn check_fields(payload: &Value, fields: &str) {
    for field in fields.split(", ") {
        assert!(payload.get(field).is_some_and(|value| !value.is_null()), "no {field}: {payload}");
    }
}

/// An object with some members replaced, or added.
pub fn with(mut body: Value, more: Value) -> Value {
    let members = body.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    body
}

#[track_caller]
pub fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name}: {value}")).to_owned()
}

impl Stage {
    /// `data` of a request that is accepted.
    pub async fn make(&self, wallet: &Wallet, path: &str, body: Value) -> Value {
        self.ask(wallet, "POST", path, Some(body)).await
    }

    /// `data` of anything below the wallet that is answered well.
    pub async fn ask(&self, wallet: &Wallet, method: &str, path: &str, body: Option<Value>) -> Value {
        let answer = self.call(&wallet.key, method, &format!("/v1/wallets/{}{path}", wallet.id), body).await;
        assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
        let answer = answer.json();
        assert!(answer["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer}");
        answer["data"].clone()
    }

    /// A page of a list, with its meta.
    pub async fn list(&self, wallet: &Wallet, path: &str) -> Value {
        self.call(&wallet.key, "GET", &format!("/v1/wallets/{}{path}", wallet.id), None).await.expect(200).json()
    }

    /// The same on paths of the account.
    pub async fn ask_as(&self, key: &str, method: &str, path: &str, body: Option<Value>) -> Value {
        let answer = self.call(key, method, path, body).await;
        assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
        answer.json()["data"].clone()
    }

    /// The webhook of this type about this transaction; its signature is the wallet's.
    pub async fn told_of(&self, wallet: &Wallet, event: &str, id: &str) -> Value {
        self.told_where(wallet, event, ("id", id)).await
    }

    /// The one whose payload has this text.
    pub async fn told_where(&self, wallet: &Wallet, event: &str, (field, value): (&str, &str)) -> Value {
        let what = format!("the webhook {event} where {field} is {value}");
        let arrived = eventually(&what, async || {
            let fits = |body: &Value| body["event"] == event && body["data"][field] == value;
            self.receiver.received().into_iter().find(|it| fits(&it.json()))
        });
        let arrived = arrived.await;
        assert_eq!(arrived.header("x-service-signature"), signature(&arrived, &wallet.key));
        let told = arrived.json()["data"].clone();
        assert_eq!(told["wallet_id"], wallet.id.as_str(), "{told}");
        told
    }

    /// Names of the events that were told of a transaction, in order.
    pub fn told_names(&self, id: &str) -> Vec<String> {
        let arrived = self.receiver.received().into_iter().map(|it| it.json());
        let about = arrived.filter(|body| body["data"]["id"] == id);
        about.map(|body| text(&body, "event")).collect()
    }

    /// A deposit to this address that is final; gives its hash.
    pub async fn deposit(&self, wallet: &Wallet, blockchain: &str, address: &str, money: (&str, &str)) -> String {
        let (symbol, amount) = money;
        let control = json!({"kind": "give", "address": address, "token": symbol, "amount": amount});
        let hash = text(&self.control(blockchain, control).await, "hash");
        let told = self.told_where(wallet, "deposit.success", ("transaction_hash", &hash)).await;
        assert_eq!(told["amount"], amount, "{told}");
        hash
    }

    /// A wallet with so much.
    pub async fn wallet_with(&self, blockchain: &str, symbol: &str, amount: &str) -> Wallet {
        let wallet = self.wallet(blockchain).await;
        self.deposit(&wallet, blockchain, &wallet.address, (symbol, amount)).await;
        wallet
    }

    /// An address with so much of its own, which its master wallet pays the gas for.
    pub async fn address_with(&self, wallet: &Wallet, blockchain: &str, money: (&str, &str)) -> Address {
        let settings = json!({"disable_auto_sweep": true, "enable_gasless_withdraw": true});
        let address = self.address(wallet, settings).await;
        self.deposit(wallet, blockchain, &address.address, money).await;
        address
    }

    /// What can be spent of an asset: below the path of a wallet (""), or of an address under it.
    pub async fn available(&self, wallet: &Wallet, path: &str, symbol: &str) -> String {
        let balances = self.get(wallet, &format!("{path}/balances")).await;
        let found = balances.as_array().unwrap().iter().find(|it| it["asset"]["asset"]["symbol"] == symbol);
        text(found.unwrap_or_else(|| panic!("no {symbol}: {balances}")), "available")
    }

    /// Once nothing moves any more: the address has what stands on its blockchain.
    pub async fn agrees_at(&self, wallet: &Wallet, address: &Address) {
        eventually("books of an address that agree with the blockchain", async || {
            let found = self.get(wallet, &format!("/addresses/{}/reconciliation", address.id)).await;
            (found["matches"] == true).then_some(())
        })
        .await;
    }

    /// The transaction as it stands.
    pub async fn transaction(&self, wallet: &Wallet, id: &str) -> Value {
        self.get(wallet, &format!("/transactions/{id}")).await
    }
}
