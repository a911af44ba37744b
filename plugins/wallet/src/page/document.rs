//! The page itself. Owns the order of things: what a screen reader says first stands first.
//!
//! What the script moves has an id; texts that it writes come from `notice`, as they do here.

use tenon_plugin::{Stop, time};

use super::html::Html;
use super::limits::{LEAD_S, POLL_MS, POLL_MS_MAX, REFRESH_S, RETRY_MS_MAX};
use super::notice::{self, Notice, name_of};
use super::payment::{Payment, host_of};
use super::policy::{SCRIPT, STYLE};
use super::qr::{self, Drawing};
use crate::rules::asset::STABLECOINS;
use crate::rules::network::Network;

pub fn text(payment: &Payment) -> Result<String, Stop> {
    let notice = notice::of(payment);
    let code = qr::draw(&payment.address)?;
    let html = head(Html::default(), payment, &notice);
    let html = html.raw("<body><main id=\"payment\" data-state=\"").text(notice.state).raw("\" data-over=\"");
    let html = html.text(if notice.over { "true" } else { "false" });
    let html = html.raw("\" data-poll-ms=\"").number(POLL_MS).raw("\" data-poll-ms-max=\"").number(POLL_MS_MAX);
    let html =
        html.raw("\" data-retry-ms-max=\"").number(RETRY_MS_MAX).raw("\" data-lead-s=\"").number(LEAD_S).raw("\">");
    let html = asked(html, payment);
    let html = status(html, payment, &notice);
    let html = if notice.over { html } else { pay(html, payment, &notice, &code) };
    Ok(html
        .raw("<p id=\"said\" class=\"unseen\" role=\"status\"></p></main><script>")
        .raw(SCRIPT)
        .raw("</script></body></html>")
        .into_text())
}

fn head(html: Html, payment: &Payment, notice: &Notice) -> Html {
    let html = html.raw(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"data:,\"><title>",
    );
    let html = html.text(notice.title).raw(" · ").text(&payment.name).raw("</title>");
    let html = match payment.onward() {
        Some(url) => led(html, url),
        None if notice.over => html,
        None => html.raw("<noscript><meta http-equiv=\"refresh\" content=\"").number(REFRESH_S).raw("\"></noscript>"),
    };
    html.raw("<style>").raw(STYLE).raw("</style></head>")
}

/// Where there is no script to do it.
fn led(html: Html, url: &str) -> Html {
    let html = html.raw("<noscript><meta http-equiv=\"refresh\" content=\"").number(LEAD_S);
    html.raw("; url=").text(url).raw("\"></noscript>")
}

/// Who asks, for what, and whether it is only a test.
fn asked(html: Html, payment: &Payment) -> Html {
    let name = payment.blockchain.network_name(payment.network);
    let html = html.with((payment.network == Network::Testnet).then_some(name), |html, name| {
        let html = html.raw("<p class=\"test\" role=\"note\"><strong>Test network: ").text(name);
        html.raw(".</strong> Its coins are worth nothing; send no real ones.</p>")
    });
    let html = html.raw("<header><h1><bdi>").text(&payment.name).raw("</bdi></h1>");
    let html = html.with(payment.description.as_deref(), |html, description| {
        html.raw("<p class=\"description\" dir=\"auto\">").text(description).raw("</p>")
    });
    html.raw("</header>")
}

fn status(html: Html, payment: &Payment, notice: &Notice) -> Html {
    let html =
        html.raw("<section class=\"status\" aria-labelledby=\"title\"><div role=\"status\" aria-live=\"polite\" aria-atomic=\"false\">");
    let html = html.raw("<h2 id=\"title\" tabindex=\"-1\">").text(notice.title).raw("</h2><p id=\"detail\">");
    let html = html.text(&notice.detail).raw("</p><p id=\"message\" class=\"message\" dir=\"auto\">");
    let html = html.text(notice.message.as_deref().unwrap_or_default()).raw("</p></div>");
    let html = html.raw("<div id=\"leave\"").when(payment.onward().is_none(), " hidden").raw("><p id=\"leaving\"></p>");
    let html = html.raw("<p><a id=\"onward\" class=\"button\" rel=\"noreferrer\"");
    let html = html.with(payment.onward(), |html, url| html.raw(" href=\"").text(url).raw("\""));
    let host = payment.onward().and_then(host_of).unwrap_or_default();
    html.raw(">Continue to <bdi id=\"host\">")
        .text(host)
        .raw("</bdi></a> <button id=\"stay\" type=\"button\" hidden>Stay on this page</button></p></div></section>")
}

/// What to send where.
fn pay(html: Html, payment: &Payment, notice: &Notice, code: &Drawing) -> Html {
    let symbol = payment.asset.symbol;
    let coin = STABLECOINS.iter().find(|coin| coin.symbol == symbol).map_or(symbol, |coin| coin.name);
    let chain = name_of(payment.blockchain);
    let html = html.raw("<section id=\"pay\" aria-label=\"How to pay\"").when(!notice.open, " hidden").raw("><dl>");
    let html = match &notice.due {
        Some(due) => {
            let html = html.raw("<div><dt>Amount to send</dt><dd><span class=\"amount\"><span id=\"due\">").text(due);
            html.raw("</span> ").text(symbol).raw("</span>").raw(COPY_AMOUNT)
        }
        None => html.raw("<div><dt>Amount to send</dt><dd>as much as you choose"),
    };
    let html = html.raw("</dd></div><div><dt>Asset</dt><dd>").text(symbol).raw(" (").text(coin);
    let html = html.with((!payment.asset.is_native).then(|| payment.blockchain.token_standard()), |html, standard| {
        html.raw(", ").text(standard)
    });
    let html = html.raw(")</dd></div><div><dt>Blockchain</dt><dd>").text(chain).raw(", ");
    let html = html.text(payment.blockchain.network_name(payment.network));
    let html = html.with(payment.expires_ms, until);
    let html = html.raw("</dd></div><div><dt>Address</dt><dd><code id=\"address\" translate=\"no\" dir=\"ltr\">");
    let html = html.text(&payment.address).raw("</code>").raw(COPY_ADDRESS).raw("</dd></div></dl><figure>");
    let html = drawn(html, code).raw(
        "<figcaption>The address as a QR code: check amount, asset and blockchain yourself.</figcaption></figure>",
    );
    let html = html.raw("<p class=\"warning\" role=\"note\"><strong>Send only ").text(symbol).raw(" on ").text(chain);
    let html = html.raw(".</strong> Another asset, or ").text(symbol).raw(" on another blockchain, may be lost.");
    html.raw(" Fees of the network come on top: the whole amount has to arrive.</p></section>")
}

fn until(html: Html, expires_ms: u64) -> Html {
    let text = time::to_text(expires_ms);
    let (day, clock) = (text.get(..10).unwrap_or_default(), text.get(11..16).unwrap_or_default());
    let html = html.raw("</dd></div><div><dt>Valid until</dt><dd><time datetime=\"").text(&text).raw("\">");
    html.text(day).raw(" ").text(clock).raw(" UTC</time>")
}

const COPY_AMOUNT: &str =
    "<button type=\"button\" class=\"copy\" data-copies=\"due\" data-said=\"Amount copied\">Copy amount</button>";
const COPY_ADDRESS: &str =
    "<button type=\"button\" class=\"copy\" data-copies=\"address\" data-said=\"Address copied\">Copy address</button>";

fn drawn(html: Html, code: &Drawing) -> Html {
    let html = html.raw("<svg id=\"code\" role=\"img\" aria-label=\"QR code of the address\" shape-rendering=\"crispEdges\" viewBox=\"0 0 ");
    let html =
        html.number(code.side).raw(" ").number(code.side).raw("\"><path fill=\"#fff\" d=\"M0 0h").number(code.side);
    let html = html.raw("v").number(code.side).raw("H0z\"/><path fill=\"#000\" d=\"").text(&code.path);
    html.raw("\"/></svg>")
}
