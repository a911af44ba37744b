//! The page on which people read the interfaces, in a real browser.

use tenon_browser::Tab;

use crate::support::{TestHost, TestHostBuilder, component, shipped_section};

fn clearing() -> TestHostBuilder {
    let section = format!("grants = {:?}", tenon_bench::clearing::GRANTS);
    TestHost::builder().plugin("clearing", component("clearing"), &section)
}

/// The text of the article of one operation, webhook or answer.
fn article(tab: &mut Tab<'_>, id: &str) -> String {
    tab.text(&format!("document.getElementById('{id}').innerText"))
}

#[test]
fn somebody_reads_how_to_ask_an_operation_and_what_comes_back() {
    let Some(mut browser) = tenon_browser::lend() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let host = clearing().plugin("wallet", component("wallet"), &shipped_section("wallet"));
    let host = runtime.block_on(host.start());
    let page = format!("{}/docs", host.base());
    let mut tab = browser.open(&page);
    tab.value("document.querySelectorAll('details').forEach((details) => { details.open = true; })");
    for (id, wanted) in [
        ("wallet.create-wallet", ["x-api-key: $KEY", "webhook_url", "string (uri)", "data.wallet_id"]),
        ("wallet.webhook.deposit.success", ["x-service-signature", "data.amount", "yes", "A deposit is final."]),
        (
            "clearing.identifier-determination",
            ["inbound.identifier.determine", "Bearer $TOKEN", "creditor_account_proxy", "Fields of NotFound"],
        ),
    ] {
        let text = article(&mut tab, id);
        wanted.iter().for_each(|wanted| assert!(text.contains(wanted), "{wanted}: {text}"));
    }
    assert_eq!(tab.complaints(), [] as [&str; 0]);
    assert!(tab.requests().iter().all(|asked| *asked == page), "{:?}", tab.requests());
    runtime.block_on(host.stop());
}

#[test]
fn it_can_be_read_on_a_small_screen_and_by_ear() {
    let Some(mut browser) = tenon_browser::lend() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // The shortest page that has everything on it.
    let host = runtime.block_on(clearing().start());
    let mut tab = browser.tab();
    tab.set_width(320);
    tab.go(&format!("{}/docs", host.base()));
    tab.value("document.querySelectorAll('details').forEach((details) => { details.open = true; })");
    assert_eq!((tab.overflow(), tab.faint_texts(), tab.nameless()), (0, Vec::new(), Vec::new()));
    let unseen: Vec<String> = tab.stops().into_iter().filter(|stop| stop.ends_with("(not seen)")).collect();
    assert_eq!(unseen, [] as [&str; 0]);
    runtime.block_on(host.stop());
}
