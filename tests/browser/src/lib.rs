//! A headless Chromium for tests of pages. Owns its process, its tabs, and the accessibility checks of a page.
//!
//! One Chromium process serves all tests of a test binary, one after another, because starting it is expensive. The
//! process uses the DevTools protocol over two pipes and ends when they close. It connects only to this machine.
//!
//! ```no_run
//! let Some(browser) = tenon_browser::acquire() else { return };
//! let mut tab = browser.open("http://127.0.0.1:8080/pay/tok_…");
//! tab.wait_for("document.title.startsWith('Paid')");
//! assert_eq!(tab.console_errors(), [] as [&str; 0]);
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "used only by tests"
)]

mod inspection;
mod process;
pub mod server;
mod tab;

use std::sync::LazyLock;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

pub use inspection::Screenshot;
pub use tab::Tab;

use process::Process;

static BROWSER: LazyLock<Option<Mutex<Browser>>> = LazyLock::new(|| Process::start().map(Browser::new).map(Mutex::new));

/// Timeout for the next message from Chromium in milliseconds, for a machine under load.
const TIMEOUT_MS: u64 = 60_000;

pub struct Browser {
    process: Process,
    last_id: u64,
}

/// Locks the browser for one test. Prints a message and returns `None` if Chromium cannot be started. The caller then
/// skips its test.
pub fn acquire() -> Option<MutexGuard<'static, Browser>> {
    let browser = BROWSER.as_ref();
    if browser.is_none() {
        eprintln!("skipped: Chromium is not installed. On Debian: apt-get install -y --no-install-recommends chromium");
    }
    Some(browser?.lock())
}

impl Browser {
    fn new(process: Process) -> Browser {
        Browser { process, last_id: 0 }
    }

    /// Opens an address in a new tab without state of earlier tabs.
    pub fn open(&mut self, url: &str) -> Tab<'_> {
        let mut tab = self.tab();
        tab.navigate(url);
        tab
    }

    /// Opens an empty tab, to be configured before it navigates.
    pub fn tab(&mut self) -> Tab<'_> {
        let context = self.command("", "Target.createBrowserContext", &json!({}));
        let context = context["browserContextId"].as_str().unwrap().to_owned();
        let target =
            self.command("", "Target.createTarget", &json!({ "url": "about:blank", "browserContextId": context }));
        let attached =
            self.command("", "Target.attachToTarget", &json!({ "targetId": target["targetId"], "flatten": true }));
        Tab::new(self, attached["sessionId"].as_str().unwrap().to_owned(), context)
    }

    /// Sends a command and waits for its response. Events that arrive meanwhile are dropped.
    fn command(&mut self, session: &str, method: &str, parameters: &Value) -> Value {
        let response = self.try_command(session, method, parameters, &mut |_| ());
        response.unwrap_or_else(|error| panic!("{method} {parameters}: {error}"))
    }

    /// Sends a command and waits for its response. Passes events that arrive meanwhile to `on_event`. Returns
    /// Chromium's error as `Err`.
    fn try_command(
        &mut self,
        session: &str,
        method: &str,
        parameters: &Value,
        on_event: &mut dyn FnMut(Value),
    ) -> Result<Value, Value> {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": parameters });
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        self.process.write(&message);
        loop {
            let mut received = self.process.read(TIMEOUT_MS).unwrap_or_else(|| panic!("no response to {method}"));
            if received["id"] != self.last_id {
                on_event(received);
            } else if received.get("error").is_some() {
                return Err(received["error"].take());
            } else {
                return Ok(received["result"].take());
            }
        }
    }
}
