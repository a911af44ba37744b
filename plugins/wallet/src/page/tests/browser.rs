//! The page in a real browser: it is read, copied from, followed and left.

use std::sync::Arc;

use parking_lot::Mutex;
use tenon_browser::{Tab, server};
use tenon_plugin::test_kit::TestAnswer;

use super::super::{Payment, Status, show, status};
use super::payment;
use crate::rules::amount::Units;

/// A payment that a test changes, and the page that shows it; a shop, of another origin, that notes who came from where.
struct Stage {
    payment: Arc<Mutex<Payment>>,
    origin: String,
    came_from: Arc<Mutex<Vec<Option<String>>>>,
}

const SHOP: &str = "<!doctype html><link rel=icon href=data:,><title>Shop</title><p>Thank you";

impl Stage {
    fn new() -> Stage {
        let came_from = Arc::new(Mutex::new(Vec::new()));
        let visits = Arc::clone(&came_from);
        let shop = server::start(move |asked| {
            visits.lock().push(asked.headers.get("referer").cloned());
            let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
            server::Response { status: 200, headers, body: SHOP.to_owned() }
        });
        let redirect_url = Some([shop.as_str(), "/thanks"].concat());
        let payment = Arc::new(Mutex::new(Payment { redirect_url, ..payment() }));
        let shown = Arc::clone(&payment);
        let origin = server::start(move |asked| {
            let payment = shown.lock().clone();
            let is_status = asked.path == "/pay/tok_1/status";
            let answer = TestAnswer::from_answer(if is_status { status(&payment) } else { show(&payment) }.unwrap());
            server::Response { status: answer.status, headers: answer.headers, body: answer.body }
        });
        Stage { payment, origin, came_from }
    }

    fn page(&self) -> String {
        [self.origin.as_str(), "/pay/tok_1"].concat()
    }

    fn becomes(&self, status: Status) {
        self.payment.lock().status = status;
    }
}

/// What the page means to wait takes no time.
const QUICK: f64 = 0.01;
/// What the page means to wait never comes.
const SLOW: f64 = 10_000.0;

/// Runs a test on a page that is there.
fn visit(stage: &Stage, pace: f64, look: impl FnOnce(&mut Tab)) {
    let Some(mut browser) = tenon_browser::acquire() else { return };
    let mut tab = browser.tab();
    tab.scale_timeouts(pace);
    tab.navigate(&stage.page());
    look(&mut tab);
    assert_eq!(tab.console_errors(), [] as [&str; 0]);
}

fn seen(tab: &mut Tab, selector: &str) -> String {
    tab.text(&format!("document.querySelector('{selector}').innerText.trim()"))
}

#[test]
fn a_payer_sees_amount_and_address() {
    visit(&Stage::new(), SLOW, |tab| {
        assert_eq!(seen(tab, "h1"), "Blue Bookshop");
        assert_eq!(seen(tab, ".amount"), "25 USDC");
        assert_eq!(seen(tab, "#address"), payment().address);
        assert_eq!(seen(tab, "#title"), "Waiting for your payment");
    });
}

#[test]
fn a_camera_reads_the_address_in_both_schemes() {
    visit(&Stage::new(), SLOW, |tab| {
        for scheme in ["light", "dark"] {
            tab.set_scheme(scheme);
            let picture = tab.screenshot("#code");
            let shade = |x, y| picture.shades[y * picture.width + x];
            let mut image = rqrr::PreparedImage::prepare_from_greyscale(picture.width, picture.height, shade);
            assert_eq!(image.detect_grids()[0].decode().unwrap().1, payment().address, "{scheme}");
        }
    });
}

#[test]
fn the_status_changes_by_itself_and_nothing_jumps() {
    let stage = Stage::new();
    visit(&stage, QUICK, |tab| {
        stage.becomes(Status::Seen { confirmations: 2, required: 12 });
        tab.wait_for("document.querySelector('#detail').textContent.startsWith('2 of 12 ')");
        assert_eq!(tab.value("document.querySelector('#pay').checkVisibility()"), false);
        stage.becomes(Status::Underpaid { received: Units::new(10_000_000) });
        tab.wait_for("document.querySelector('#due').textContent === '15'");
        assert_eq!(tab.value("document.querySelector('#pay').checkVisibility()"), true);
        stage.becomes(Status::Expired);
        tab.wait_for("document.title.startsWith('This payment link has expired')");
        assert_eq!(tab.value("document.querySelector('#pay').checkVisibility()"), false);
        assert_eq!(tab.layout_shift(), 0.0);
    });
}

#[test]
fn who_has_paid_is_led_on_and_nobody_learns_from_where() {
    let stage = Stage::new();
    visit(&stage, QUICK, |tab| {
        stage.becomes(Status::Paid);
        tab.wait_for("document.title === 'Shop'");
        let shop = stage.payment.lock().redirect_url.clone().unwrap();
        let asked = tab.requests();
        let elsewhere: Vec<_> = asked.iter().filter(|url| !url.starts_with(&stage.origin)).collect();
        assert_eq!(elsewhere, [&shop]);
        assert_eq!(*stage.came_from.lock(), [None]);
    });
}

#[test]
fn who_wants_to_stay_stays() {
    let stage = Stage::new();
    stage.becomes(Status::Paid);
    visit(&stage, SLOW, |tab| {
        assert_eq!(tab.tab_stops(), ["onward", "stay"]);
        tab.value("window.left = []; window.clearTimeout = (timer) => left.push(timer); 0");
        tab.value("document.querySelector('#stay').focus()");
        tab.press("Enter");
        assert_eq!(seen(tab, "#leaving"), "You stay on this page.");
        assert_eq!(tab.text("document.activeElement.id"), "onward");
        assert_eq!(tab.value("document.querySelector('#stay').checkVisibility()"), false);
        assert_eq!(tab.value("left.length"), 1);
    });
}

#[test]
fn what_has_to_be_sent_is_copied_with_the_keyboard() {
    visit(&Stage::new(), SLOW, |tab| {
        let origin = tab.text("location.origin");
        let clipboard =
            serde_json::json!({ "origin": origin, "permission": { "name": "clipboard-write" }, "setting": "granted" });
        tab.command("Browser.setPermission", &clipboard);
        // Headless, there is no clipboard to look into: what the page gives to it is kept.
        tab.value("navigator.clipboard.writeText = async (text) => { window.copied = text }");
        assert_eq!(tab.tab_stops(), ["Copy amount", "Copy address"]);
        for (label, copied, said) in
            [("Copy amount", "25".to_owned(), "Amount copied"), ("Copy address", payment().address, "Address copied")]
        {
            tab.value(&format!(
                "[...document.querySelectorAll('button')].find(one => one.textContent === '{label}').focus()"
            ));
            tab.press("Enter");
            tab.wait_for(&format!("document.querySelector('#said').textContent === '{said}'"));
            assert_eq!(tab.text("copied"), copied);
        }
    });
}

#[test]
fn everything_has_a_name_and_can_be_read() {
    let stage = Stage::new();
    for status in [Status::Waiting, Status::Paid] {
        stage.becomes(status);
        visit(&stage, SLOW, |tab| {
            for scheme in ["light", "dark"] {
                tab.set_scheme(scheme);
                assert_eq!(tab.low_contrast_texts(), [] as [&str; 0], "{scheme}");
            }
            assert_eq!(tab.unnamed_elements(), [] as [&str; 0]);
            assert_eq!(tab.text("document.documentElement.lang"), "en");
        });
    }
}

#[test]
fn long_and_foreign_texts_fit_a_small_screen() {
    let stage = Stage::new();
    {
        let mut payment = stage.payment.lock();
        payment.name = ["\u{5e9}\u{5dc}\u{5d5}\u{5dd}\u{202e}", &"W".repeat(120)].concat();
        payment.description = Some("e\u{301}\u{302}\u{303}".repeat(200));
        payment.amount = Units::parse("12345678901234567890.123456", 6).ok();
    }
    visit(&stage, SLOW, |tab| {
        tab.set_width(320);
        assert_eq!(tab.overflow(), 0);
        assert_eq!(tab.value("document.querySelector('#code').getBoundingClientRect().width > 200"), true);
        // Whatever a name says, what surrounds it is read from left to right.
        assert_eq!(tab.text("getComputedStyle(document.querySelector('h1')).direction"), "ltr");
    });
}

#[test]
fn without_scripts_there_is_all_but_what_needs_them() {
    let Some(mut browser) = tenon_browser::acquire() else { return };
    let stage = Stage::new();
    let mut tab = browser.tab();
    tab.disable_scripts();
    tab.navigate(&stage.page());
    assert_eq!(seen(&mut tab, "#address"), payment().address);
    assert_eq!(tab.value("document.querySelector('.copy').checkVisibility()"), false);
    assert_eq!(tab.text("document.querySelector('noscript meta').content"), "15");
}
