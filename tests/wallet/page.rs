//! The payment page behind a payment link, in a real browser: it follows what arrives on the blockchain.

use serde_json::{Value, json};

use super::stage::{Stage, Wallet};

/// A link for 25 USDC.
async fn link(stage: &Stage, wallet: &Wallet) -> Value {
    let asset = stage.asset(wallet, "USDC").await;
    let body = json!({"name": "Invoice <7>", "asset_id": asset, "amount": "25"});
    stage.post(wallet, "/payment-links", body).await.expect(201).json()["data"].clone()
}

/// The browser is nobody's who waits for something else: it and the host are asked in turn.
#[test]
fn a_payer_sees_the_payment_arrive() {
    let Some(mut browser) = tenon_browser::acquire() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let stage = runtime.block_on(Stage::open());
    let wallet = runtime.block_on(stage.wallet("base"));
    let link = runtime.block_on(link(&stage, &wallet));
    let (url, address) = (link["payment_link_url"].as_str().unwrap(), link["address"].as_str().unwrap());
    let mut tab = browser.tab();
    // It asks every three seconds, and the host is quicker.
    tab.scale_timeouts(0.05);
    tab.navigate(url);
    assert_eq!(tab.text("document.querySelector('h1').innerText"), "Invoice <7>");
    assert_eq!(tab.text("document.querySelector('#address').innerText"), address);
    runtime.block_on(stage.give("base", address, "USDC", "10"));
    tab.wait_for("document.querySelector('#due').textContent === '15'");
    runtime.block_on(stage.give("base", address, "USDC", "15"));
    tab.wait_for("document.title.startsWith('Paid')");
    assert_eq!(tab.console_errors(), [] as [&str; 0]);
    assert!(tab.requests().iter().all(|asked| asked.starts_with(url)), "{:?}", tab.requests());
    runtime.block_on(stage.finish());
}

#[test]
fn a_page_of_nothing_is_not_found_and_a_ticket_is_no_key() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let stage = Stage::open().await;
        let wallet = stage.wallet("base").await;
        let link = link(&stage, &wallet).await;
        let ticket = link["payment_link_url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let path = format!("/pay/{ticket}/status");
        assert_eq!(stage.call("", "GET", &path, None).await.expect(200).json()["data"]["state"], "waiting");
        for unknown in [format!("/pay/{ticket}x"), format!("/pay/{}", wallet.key), "/pay/x/status".to_owned()] {
            stage.call("", "GET", &unknown, None).await.check(404);
        }
        for path in [format!("/v1/wallets/{}", wallet.id), "/v1/assets".to_owned()] {
            stage.call(&ticket, "GET", &path, None).await.check(401);
        }
        stage.finish().await;
    });
}
