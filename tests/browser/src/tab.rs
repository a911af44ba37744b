//! One tab: where it goes, what it is asked, and what it has heard meanwhile. It goes when it is dropped.

use serde_json::{Value, json};

use super::{Browser, PATIENCE_MS};

pub struct Tab<'b> {
    browser: &'b mut Browser,
    session: String,
    context: String,
    heard: Vec<Value>,
}

impl<'b> Tab<'b> {
    pub(super) fn new(browser: &'b mut Browser, session: String, context: String) -> Tab<'b> {
        let mut tab = Tab { browser, session, context, heard: Vec::new() };
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            tab.ask(&[domain, ".enable"].concat(), &json!({}));
        }
        tab
    }

    /// A command of the DevTools protocol.
    pub fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        let answer = self.try_ask(method, parameters);
        answer.unwrap_or_else(|error| panic!("{method} {parameters}: {error}"))
    }

    fn try_ask(&mut self, method: &str, parameters: &Value) -> Result<Value, Value> {
        let Tab { browser, session, heard, .. } = self;
        browser.try_ask(session, method, parameters, &mut |message| heard.push(message))
    }

    /// Loads an address, and waits until it is there and its scripts have run.
    pub fn go(&mut self, url: &str) {
        let before = self.heard.len();
        self.ask("Page.navigate", &json!({ "url": url }));
        while !self.heard.iter().skip(before).any(|message| self.is_mine(message, "Page.loadEventFired")) {
            let message = self.browser.process.read(PATIENCE_MS);
            self.heard.push(message.unwrap_or_else(|| panic!("{url} does not load")));
        }
    }

    /// Pages that come wait so many times as long as they mean to.
    pub fn stretch_waits(&mut self, times: f64) {
        let source = format!("{{ const wait = setTimeout; window.setTimeout = (run, ms) => wait(run, ms * {times}) }}");
        self.ask("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": source }));
    }

    pub fn switch_scripts_off(&mut self) {
        self.ask("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    }

    /// What an expression comes to; promises are waited for. It counts as something that a person did.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true });
        let mut answer = self.ask("Runtime.evaluate", &asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    pub fn text(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is {value}")).to_owned()
    }

    /// Until an expression is true, in whatever page is there then.
    pub fn wait_for(&mut self, expression: &str) {
        let patience = PATIENCE_MS / 2;
        let asked = format!(
            "new Promise(tell => {{ const until = Date.now() + {patience}; const look = () => {{ let is = false; \
             try {{ is = !!({expression}) }} catch {{}} \
             if (is || Date.now() > until) tell(is); else scheduler.postTask(look, {{ delay: 20 }}) }}; look() }})"
        );
        let asked = json!({ "expression": asked, "returnByValue": true, "awaitPromise": true });
        // A page that goes takes the question along: it is asked anew of the one that comes.
        let mut answers = (0..20).map(|_| self.try_ask("Runtime.evaluate", &asked));
        let answer = answers.find_map(|answer| answer.ok()?["result"]["value"].as_bool());
        assert_eq!(answer, Some(true), "it never came: {expression}");
    }

    /// Presses and lets go of a key ("Tab", "Enter").
    pub fn press(&mut self, key: &str) {
        let code = if key == "Tab" { 9 } else { 13 };
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let pressed = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.ask("Input.dispatchKeyEvent", &pressed);
        }
    }

    /// Whatever the browser or the page has complained about: exceptions, errors and warnings, what a policy has forbidden.
    pub fn complaints(&mut self) -> Vec<String> {
        let is_loud = |level: &Value| level == "error" || level == "warning";
        let heard = self.heard("Runtime.exceptionThrown", |_| true).into_iter();
        let heard = heard.chain(self.heard("Runtime.consoleAPICalled", |said| is_loud(&said["type"])));
        let heard = heard.chain(self.heard("Log.entryAdded", |said| is_loud(&said["entry"]["level"])));
        heard.map(|said| said.to_string()).collect()
    }

    /// The addresses of everything that was asked for.
    pub fn requests(&mut self) -> Vec<String> {
        let asked = self.heard("Network.requestWillBeSent", |_| true);
        asked.iter().filter_map(|asked| asked["request"]["url"].as_str().map(str::to_owned)).collect()
    }

    fn heard(&mut self, method: &str, counts: impl Fn(&Value) -> bool) -> Vec<Value> {
        // What was told before an answer comes before it.
        self.ask("Runtime.evaluate", &json!({ "expression": "1" }));
        let told = self.heard.iter().filter(|message| self.is_mine(message, method)).map(|message| &message["params"]);
        told.filter(|told| counts(told)).cloned().collect()
    }

    fn is_mine(&self, message: &Value, method: &str) -> bool {
        message["sessionId"] == self.session.as_str() && message["method"] == method
    }
}

impl Drop for Tab<'_> {
    fn drop(&mut self) {
        // Also where a test has failed: nothing is left to say then.
        let gone = json!({ "browserContextId": self.context });
        let _ = self.browser.try_ask("", "Target.disposeBrowserContext", &gone, &mut |_| ());
    }
}
