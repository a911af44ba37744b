//! A headless Chromium for tests of pages. Owns its process, its tabs, and the looks that every page has to bear.
//!
//! One process serves all tests of a program, one after the other: starting it costs most. It speaks the DevTools protocol over two
//! pipes and ends when they close. It reaches nothing but this machine.
//!
//! ```no_run
//! let Some(browser) = tenon_browser::lend() else { return };
//! let mut tab = browser.open("http://127.0.0.1:8080/pay/tok_…");
//! tab.wait_for("document.title.startsWith('Paid')");
//! assert_eq!(tab.complaints(), [] as [&str; 0]);
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "it fails tests")]

mod looks;
mod process;
pub mod server;
mod tab;

use std::sync::LazyLock;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

pub use looks::Picture;
pub use tab::Tab;

use process::Process;

static BROWSER: LazyLock<Option<Mutex<Browser>>> = LazyLock::new(|| Process::start().map(Browser::new).map(Mutex::new));

/// Milliseconds that anything may take: a loaded machine, not a quick one.
const PATIENCE_MS: u64 = 60_000;

pub struct Browser {
    process: Process,
    last_id: u64,
}

/// The browser, for one test at a time. `None` where there is no Chromium: the test says so and is over.
pub fn lend() -> Option<MutexGuard<'static, Browser>> {
    let browser = BROWSER.as_ref();
    if browser.is_none() {
        eprintln!("skipped: there is no Chromium. On Debian: apt-get install -y --no-install-recommends chromium");
    }
    Some(browser?.lock())
}

impl Browser {
    fn new(process: Process) -> Browser {
        Browser { process, last_id: 0 }
    }

    /// A tab of its own, without anything that others have left behind.
    pub fn open(&mut self, url: &str) -> Tab<'_> {
        let mut tab = self.tab();
        tab.go(url);
        tab
    }

    /// An empty one, to be set up before it goes anywhere.
    pub fn tab(&mut self) -> Tab<'_> {
        let context = self.ask("", "Target.createBrowserContext", &json!({}));
        let context = context["browserContextId"].as_str().unwrap().to_owned();
        let target = self.ask("", "Target.createTarget", &json!({ "url": "about:blank", "browserContextId": context }));
        let attached =
            self.ask("", "Target.attachToTarget", &json!({ "targetId": target["targetId"], "flatten": true }));
        Tab::new(self, attached["sessionId"].as_str().unwrap().to_owned(), context)
    }

    /// Asks and waits; what is told meanwhile is lost.
    fn ask(&mut self, session: &str, method: &str, parameters: &Value) -> Value {
        let answer = self.try_ask(session, method, parameters, &mut |_| ());
        answer.unwrap_or_else(|error| panic!("{method} {parameters}: {error}"))
    }

    /// Asks and waits; what is told meanwhile is heard. `Err`: what Chromium has against it.
    fn try_ask(
        &mut self,
        session: &str,
        method: &str,
        parameters: &Value,
        hear: &mut dyn FnMut(Value),
    ) -> Result<Value, Value> {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": parameters });
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        self.process.write(&message);
        loop {
            let mut heard = self.process.read(PATIENCE_MS).unwrap_or_else(|| panic!("no answer to {method}"));
            if heard["id"] != self.last_id {
                hear(heard);
            } else if heard.get("error").is_some() {
                return Err(heard["error"].take());
            } else {
                return Ok(heard["result"].take());
            }
        }
    }
}
