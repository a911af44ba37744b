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
    reply: Option<Reply>,
}

/// `Err` is the class of the failure: "timeout", "dns", …
pub type Reply = Result<OutgoingAnswer, String>;

impl Questions {
    /// Those without a reply.
    pub fn open(&self) -> impl Iterator<Item = (&str, &OutgoingCall)> {
        self.asked.iter().filter(|(_, asked)| asked.reply.is_none()).map(|(key, asked)| (key.as_str(), &asked.call))
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

    pub(super) fn ask(&mut self, key: String, call: OutgoingCall) -> wasmtime::Result<Option<Reply>> {
        if let Some(asked) = self.asked.get(&key) {
            if asked.call != call {
                wasmtime::bail!("question {key:.80?} was asked before, with another call");
            }
            return Ok(asked.reply.clone());
        }
        if self.asked.len() >= QUESTIONS_MAX {
            wasmtime::bail!("a call asks at most {QUESTIONS_MAX} questions");
        }
        self.asked.insert(key, Asked { call, reply: None });
        Ok(None)
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
        let Some(reply) = self.questions().ask(key, call)? else { return Ok(None) };
        if let Ok(answer) = &reply {
            self.meter_answer(answer.content.bytes().len() + outgoing::head_size(&answer.headers))?;
        }
        Ok(Some(reply.map(outgoing::response)))
    }
}
