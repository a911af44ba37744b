//! A browser tab: navigation, commands, and the events that it has received. Dropping it closes the tab.

use serde_json::{Value, json};

use super::{Browser, TIMEOUT_MS};

pub struct Tab<'b> {
    browser: &'b mut Browser,
    session: String,
    context: String,
    events: Vec<Value>,
}

impl<'b> Tab<'b> {
    pub(super) fn new(browser: &'b mut Browser, session: String, context: String) -> Tab<'b> {
        let mut tab = Tab { browser, session, context, events: Vec::new() };
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            tab.command(&[domain, ".enable"].concat(), &json!({}));
        }
        tab
    }

    /// Sends a command of the DevTools protocol and returns its response.
    pub fn command(&mut self, method: &str, parameters: &Value) -> Value {
        let response = self.try_command(method, parameters);
        response.unwrap_or_else(|error| panic!("{method} {parameters}: {error}"))
    }

    fn try_command(&mut self, method: &str, parameters: &Value) -> Result<Value, Value> {
        let Tab { browser, session, events, .. } = self;
        browser.try_command(session, method, parameters, &mut |message| events.push(message))
    }

    /// Navigates to a URL and waits for the load event of the page.
    pub fn navigate(&mut self, url: &str) {
        let before = self.events.len();
        self.command("Page.navigate", &json!({ "url": url }));
        while !self.events.iter().skip(before).any(|message| self.is_own_event(message, "Page.loadEventFired")) {
            let message = self.browser.process.read(TIMEOUT_MS);
            self.events.push(message.unwrap_or_else(|| panic!("{url} does not load")));
        }
    }

    /// Multiplies the delays of `setTimeout` in all pages that are loaded later.
    pub fn scale_timeouts(&mut self, factor: f64) {
        let source =
            format!("{{ const wait = setTimeout; window.setTimeout = (run, ms) => wait(run, ms * {factor}) }}");
        self.command("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": source }));
    }

    pub fn disable_scripts(&mut self) {
        self.command("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    }

    /// Evaluates an expression and returns its value. Awaits a promise. The evaluation counts as a user action.
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true });
        let mut response = self.command("Runtime.evaluate", &parameters);
        assert!(response.get("exceptionDetails").is_none(), "{expression}: {response}");
        response["result"]["value"].take()
    }

    pub fn text(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is {value}")).to_owned()
    }

    /// Waits until an expression is true in the current page, also across navigations.
    pub fn wait_for(&mut self, expression: &str) {
        let timeout_ms = TIMEOUT_MS / 2;
        let script = format!(
            "new Promise(resolve => {{ const until = Date.now() + {timeout_ms}; const poll = () => {{ let is = false; \
             try {{ is = !!({expression}) }} catch {{}} \
             if (is || Date.now() > until) resolve(is); else scheduler.postTask(poll, {{ delay: 20 }}) }}; poll() }})"
        );
        let parameters = json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        // A navigation aborts the evaluation. The next attempt evaluates the expression in the new page.
        let mut responses = (0..20).map(|_| self.try_command("Runtime.evaluate", &parameters));
        let result = responses.find_map(|response| response.ok()?["result"]["value"].as_bool());
        assert_eq!(result, Some(true), "never became true: {expression}");
    }

    /// Presses and releases a key ("Tab" or "Enter").
    pub fn press(&mut self, key: &str) {
        let code = if key == "Tab" { 9 } else { 13 };
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let pressed = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.command("Input.dispatchKeyEvent", &pressed);
        }
    }

    /// Returns all errors and warnings of the browser and the page: exceptions, console messages, policy violations.
    pub fn console_errors(&mut self) -> Vec<String> {
        let is_error = |level: &Value| level == "error" || level == "warning";
        let events = self.events("Runtime.exceptionThrown", |_| true).into_iter();
        let events = events.chain(self.events("Runtime.consoleAPICalled", |event| is_error(&event["type"])));
        let events = events.chain(self.events("Log.entryAdded", |event| is_error(&event["entry"]["level"])));
        events.map(|event| event.to_string()).collect()
    }

    /// Returns the URLs of all requests.
    pub fn requests(&mut self) -> Vec<String> {
        let events = self.events("Network.requestWillBeSent", |_| true);
        events.iter().filter_map(|event| event["request"]["url"].as_str().map(str::to_owned)).collect()
    }

    fn events(&mut self, method: &str, is_included: impl Fn(&Value) -> bool) -> Vec<Value> {
        // Events arrive before the response to a later command.
        self.command("Runtime.evaluate", &json!({ "expression": "1" }));
        let events = self.events.iter().filter(|event| self.is_own_event(event, method));
        events.map(|event| &event["params"]).filter(|event| is_included(event)).cloned().collect()
    }

    fn is_own_event(&self, message: &Value, method: &str) -> bool {
        message["sessionId"] == self.session.as_str() && message["method"] == method
    }
}

impl Drop for Tab<'_> {
    fn drop(&mut self) {
        // Errors are ignored, because `drop` also runs after a test has failed.
        let parameters = json!({ "browserContextId": self.context });
        let _ = self.browser.try_command("", "Target.disposeBrowserContext", &parameters, &mut |_| ());
    }
}
