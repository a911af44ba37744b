//! `questions`: outgoing calls before deciding. A question is only noted here; who runs the call asks it once the run has
//! ended, and runs again.

use std::collections::BTreeMap;

use tenon_bindings::tenon::plugin::{questions::Host, types};

use super::{Passwords, outgoing};
use crate::{
    capability::CallState,
    changes::outgoing::{OutgoingAnswer, OutgoingCall},
    limits::{QUESTION_REPLIES_BYTES_MAX, QUESTIONS_MAX},
};

/// What one call asks, over all of its runs: a reply stays the same once it is there.
#[derive(Default)]
pub struct Questions {
    /// Those are put to the host's own processor.
    pub passwords: Passwords,
    asked: BTreeMap<String, Asked>,
    /// Of all replies.
    bytes: usize,
}

#[derive(Debug)]
struct Asked {
    call: OutgoingCall,
    /// Size of the key and the call.
    bytes: usize,
    reply: Option<Reply>,
}

/// `Err` is the class of the failure: "timeout", "dns", …
pub type Reply = Result<OutgoingAnswer, String>;

impl Questions {
    /// Those without a reply.
    pub fn open(&self) -> impl Iterator<Item = (&str, &OutgoingCall)> {
        self.asked.iter().filter(|(_, asked)| asked.reply.is_none()).map(|(key, asked)| (key.as_str(), &asked.call))
    }

    /// Returns the size of the questions without a reply in bytes.
    pub fn open_bytes(&self) -> usize {
        self.asked.values().filter(|asked| asked.reply.is_none()).map(|asked| asked.bytes).sum()
    }

    pub(super) fn reply_to(&self, key: &str) -> Option<&Reply> {
        self.asked.get(key)?.reply.as_ref()
    }

    /// Removes the questions without a reply. The next run of the call asks them again.
    pub fn forget_open(&mut self) {
        self.asked.retain(|_key, asked| asked.reply.is_some());
    }

    pub(super) fn is_asked(&self, key: &str) -> bool {
        self.asked.contains_key(key)
    }

    /// One with which the replies of this call would be too large together is none.
    pub fn reply(&mut self, key: &str, reply: Reply) {
        let bytes = self.bytes + reply.as_ref().map_or(0, |answer| answer.content.bytes().len());
        let reply = if bytes > QUESTION_REPLIES_BYTES_MAX { Err("too-large".to_owned()) } else { reply };
        if let Some(asked) = self.asked.get_mut(key) {
            self.bytes += reply.as_ref().map_or(0, |answer| answer.content.bytes().len());
            asked.reply = Some(reply);
        }
    }

    /// Notes a question. `Err` where its key stands for another call.
    pub(super) fn ask(&mut self, key: &str, call: OutgoingCall) -> wasmtime::Result<()> {
        if let Some(asked) = self.asked.get(key) {
            if asked.call != call {
                wasmtime::bail!("question {key:.80?} was asked before, with another call");
            }
            return Ok(());
        }
        if self.asked.len() >= QUESTIONS_MAX {
            wasmtime::bail!("a call asks at most {QUESTIONS_MAX} questions");
        }
        let bytes = key.len() + call.path.len() + outgoing::head_size(&call.headers) + call.content.bytes().len();
        self.asked.insert(key.to_owned(), Asked { call, bytes, reply: None });
        Ok(())
    }
}

impl Host for CallState {
    async fn ask(
        &mut self,
        key: String,
        call: types::Call,
    ) -> wasmtime::Result<Option<Result<types::Response, String>>> {
        self.count(key.len() + outgoing::size_of(&call))?;
        if self.draft().call().scope.is_none() {
            wasmtime::bail!("an open route has no tenant: its calls can ask nobody");
        }
        let call = outgoing::call(call, self.draft().call().hops)?;
        self.questions().ask(&key, call)?;
        let Some(reply) = self.questions().reply_to(&key) else { return Ok(None) };
        let answer = reply.as_ref().ok();
        let bytes = answer.map_or(0, |answer| answer.content.bytes().len() + outgoing::head_size(&answer.headers));
        self.meter_answer(bytes)?;
        let reply = self.questions().reply_to(&key).cloned();
        Ok(reply.map(|reply| reply.map(outgoing::response)))
    }
}
