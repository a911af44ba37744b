//! The process and its two pipes: JSON messages, each terminated with NUL.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

/// Chromium reads from descriptor 3 and writes to 4. It ends when the pipes close, even after a failed test. The
/// folder of its profile is then removed.
const START: &str = r#"
program=$(command -v chromium || command -v chromium-headless-shell || command -v chromium-browser || command -v google-chrome) || exit 0
profile=$(mktemp -d) || exit 0
trap 'rm -rf "$profile"' EXIT
trap '' INT TERM
"$program" --headless --remote-debugging-pipe --user-data-dir="$profile" "$@" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1
"#;

/// The sandbox requires permissions that containers do not have, and only pages of tests are opened. Name resolution
/// is limited to this machine.
const FLAGS: [&str; 8] = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
];

pub struct Process {
    commands: ChildStdin,
    messages: Receiver<Value>,
}

impl Process {
    /// Starts Chromium. Returns `None` if it is not installed or does not respond.
    pub fn start() -> Option<Process> {
        let mut command = Command::new("sh");
        command.args(["-c", START, "chromium"]).args(FLAGS).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let (commands, output) = (child.stdin.take()?, child.stdout.take()?);
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0) {
                let Some(message) = message.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) else { break };
                if sender.send(message).is_err() {
                    break;
                }
            }
            let _ = child.wait();
        });
        let mut process = Process { commands, messages };
        process.try_write(&serde_json::json!({ "id": 0, "method": "Browser.getVersion" }))?;
        process.read(super::TIMEOUT_MS).map(|_| process)
    }

    pub fn write(&mut self, message: &Value) {
        self.try_write(message).expect("Chromium is running");
    }

    fn try_write(&mut self, message: &Value) -> Option<()> {
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).and_then(|()| self.commands.flush()).ok()
    }

    /// Returns the next message, or `None` after the timeout or after Chromium has ended.
    pub fn read(&mut self, timeout_ms: u64) -> Option<Value> {
        self.messages.recv_timeout(Duration::from_millis(timeout_ms)).ok()
    }
}
