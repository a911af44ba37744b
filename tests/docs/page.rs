//! The documentation page of the interfaces in a real browser.

use tenon_browser::Tab;

use crate::support::{TestHost, TestHostBuilder, component, shipped_section};

fn clearing() -> TestHostBuilder {
    let section = format!("grants = {:?}", tenon_bench::clearing::GRANTS);
    TestHost::builder().plugin("clearing", component("clearing"), &section)
}

/// Returns the text of the article of one operation, webhook or response.
fn article(tab: &mut Tab<'_>, id: &str) -> String {
    tab.text(&format!("document.getElementById('{id}').innerText"))
}

#[test]
fn page_documents_requests_responses_and_webhooks() {
    let Some(mut browser) = tenon_browser::acquire() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let host = clearing().plugin("wallet", component("wallet"), &shipped_section("wallet"));
    let host = runtime.block_on(host.start());
    let page = format!("{}/docs", host.base());
    let mut tab = browser.open(&page);
    tab.value("document.querySelectorAll('details').forEach((details) => { details.open = true; })");
    for (id, expected) in [
        ("wallet.create-wallet", ["x-api-key: $KEY", "webhook_url", "string (uri)", "data.wallet_id"]),
        ("wallet.webhook.deposit.success", ["x-service-signature", "data.amount", "yes", "A deposit is final."]),
        (
            "clearing.identifier-determination",
            ["inbound.identifier.determine", "Bearer $TOKEN", "creditor_account_proxy", "Fields of NotFound"],
        ),
    ] {
        let text = article(&mut tab, id);
        expected.iter().for_each(|expected| assert!(text.contains(expected), "{expected}: {text}"));
    }
    assert_eq!(tab.console_errors(), [] as [&str; 0]);
    assert!(tab.requests().iter().all(|request| *request == page), "{:?}", tab.requests());
    runtime.block_on(host.stop());
}

#[test]
fn page_is_accessible_and_fits_a_small_screen() {
    let Some(mut browser) = tenon_browser::acquire() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // The shortest page that has every kind of element.
    let host = runtime.block_on(clearing().start());
    let mut tab = browser.tab();
    tab.set_width(320);
    tab.navigate(&format!("{}/docs", host.base()));
    tab.value("document.querySelectorAll('details').forEach((details) => { details.open = true; })");
    assert_eq!((tab.overflow(), tab.low_contrast_texts(), tab.unnamed_elements()), (0, Vec::new(), Vec::new()));
    let unseen: Vec<String> =
        tab.tab_stops().into_iter().filter(|stop| stop.ends_with("(focus not visible)")).collect();
    assert_eq!(unseen, [] as [&str; 0]);
    runtime.block_on(host.stop());
}
