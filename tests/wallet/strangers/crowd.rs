//! Everybody who might ask: an account with its other wallet, another account, both environments; and all that they read of
//! themselves.

use serde_json::json;

use super::{
    estate::{Estate, full, live, open},
    requests::{ask, get},
};
use crate::{
    support::eventually,
    wallet::{
        coverage::STRANGERS,
        stage::{Stage, Wallet},
    },
};

/// Where webhooks of the live environment go: nobody answers there.
pub const LIVE_HOOK: &str = "https://example.com/hook";

/// One of `STRANGERS`.
pub struct Stranger {
    pub is: &'static str,
    /// Of the account, where it is another one, and of the wallet.
    pub keys: Vec<String>,
    pub wallet: Wallet,
}

/// One account in both environments, and who is a stranger to it there.
pub struct Crowd {
    pub test: Estate,
    pub live: Estate,
    pub strangers_to_test: [Stranger; 3],
    pub strangers_to_live: [Stranger; 3],
}

pub async fn key(stage: &Stage, tenant: &str, environment: &str) -> String {
    let made = json!({"plugin": "wallet", "tenant": tenant, "environment": environment});
    stage.host.create_key(made).await["key"].as_str().expect("a key").to_owned()
}

async fn others(stage: &Stage, own: &str, (environment, hook): (&str, &str)) -> [Stranger; 2] {
    let second = open(stage, own, "polygon", &format!("{hook}/second")).await;
    let rival = key(stage, "rival", environment).await;
    let rivals = open(stage, &rival, "base", &format!("{hook}/rival")).await;
    [
        Stranger { is: STRANGERS[0], keys: vec![second.key.clone()], wallet: second },
        Stranger { is: STRANGERS[1], keys: vec![rival, rivals.key.clone()], wallet: rivals },
    ]
}

fn elsewhere(estate: &Estate) -> Stranger {
    let wallet = estate.wallet.clone();
    Stranger { is: STRANGERS[2], keys: vec![estate.key.clone(), wallet.key.clone()], wallet }
}

impl Crowd {
    pub async fn gather(stage: &Stage) -> Crowd {
        let test = full(stage).await;
        let live = live(stage, &key(stage, "acme", "live").await).await;
        let [second, rival] = others(stage, &test.key, ("test", stage.receiver.url())).await;
        let strangers_to_test = [second, rival, elsewhere(&live)];
        let [second, rival] = others(stage, &live.key, ("live", LIVE_HOOK)).await;
        let strangers_to_live = [second, rival, elsewhere(&test)];
        Crowd { test, live, strangers_to_test, strangers_to_live }
    }

    pub fn accounts(&self) -> [&str; 4] {
        let rivals = [&self.strangers_to_test[1].keys[0], &self.strangers_to_live[1].keys[0]];
        [&self.test.key, &self.live.key, rivals[0], rivals[1]]
    }
}

async fn ids(stage: &Stage, account: &str, path: &str) -> Vec<String> {
    let found = get(stage, account, path).await;
    let id = |row: &serde_json::Value| row["id"].as_str().expect("an id").to_owned();
    found["data"].as_array().expect("rows").iter().map(id).collect()
}

/// Everything that an account reads of itself.
async fn picture(stage: &Stage, account: &str) -> Vec<String> {
    let at_account = ["wallets", "payment_links", "compliance", "gateway/balance"];
    let mut paths: Vec<String> = at_account.map(|it| format!("/v1/{it}")).into();
    for wallet in ids(stage, account, "/v1/wallets").await {
        let wallet = format!("/v1/wallets/{wallet}");
        let below =
            ["addresses", "assets", "balances", "transactions", "auto-settlements", "webhooks", "virtual-accounts"];
        paths.extend(below.map(|it| format!("{wallet}/{it}")));
        for address in ids(stage, account, &format!("{wallet}/addresses")).await {
            let address = format!("{wallet}/addresses/{address}");
            let below = ["", "/balances", "/transactions", "/gateway/balance", "/virtual-accounts"];
            paths.extend(below.map(|it| format!("{address}{it}")));
            if get(stage, account, &address).await["data"]["type"] == "INTERNAL" {
                paths.push(format!("{address}/auto-settlements"));
            }
        }
    }
    let mut texts = Vec::new();
    for path in paths {
        let text = ask(stage, account, "GET", &path, "").await.expect(200).text();
        texts.push(format!("{path} {text}"));
    }
    texts
}

/// Of all accounts, and what was told, once nothing moves any more.
pub async fn pictures(stage: &Stage, accounts: &[&str]) -> Vec<String> {
    let mut last = Vec::new();
    eventually("an end of all that moves", async || {
        let mut now = Vec::new();
        for account in accounts {
            now.extend(picture(stage, account).await);
        }
        now.push(format!("{} webhooks", stage.receiver.received().len()));
        let is_over = now == last && !now.iter().any(|text| text.contains(r#""attempts":0"#));
        last = now;
        is_over.then(|| last.clone())
    })
    .await
}
