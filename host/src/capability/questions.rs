//! `questions`: outgoing calls before deciding. A question is only noted here. The caller sends it after the run has
//! ended, and runs the call again.

use std::collections::BTreeMap;

use tenon_bindings::tenon::plugin::{questions::Host, types};

use super::{Passwords, outgoing};
use crate::{
    capability::CallState,
    changes::outgoing::{OutgoingCall, OutgoingResponse},
    limits::{QUESTION_REPLIES_BYTES_MAX, QUESTIONS_MAX},
};

/// Questions of one call, over all of its runs. A recorded result does not change.
#[derive(Default)]
pub struct Questions {
    /// Passwords, which the host computes itself.
    pub passwords: Passwords,
    questions: BTreeMap<String, Question>,
    /// Total size of the bodies of the results.
    bytes: usize,
}

#[derive(Debug)]
struct Question {
    call: OutgoingCall,
    /// Size of the key and the call.
    bytes: usize,
    result: Option<QuestionResult>,
}

/// Result of a question. `Err` is the class of the error: "timeout", "dns", …
pub type QuestionResult = Result<OutgoingResponse, String>;

impl Questions {
    /// Returns the questions without a result.
    pub fn pending(&self) -> impl Iterator<Item = (&str, &OutgoingCall)> {
        self.questions
            .iter()
            .filter(|(_, question)| question.result.is_none())
            .map(|(key, question)| (key.as_str(), &question.call))
    }

    /// Returns the size of the questions without a result in bytes.
    pub fn pending_bytes(&self) -> usize {
        self.questions.values().filter(|question| question.result.is_none()).map(|question| question.bytes).sum()
    }

    pub(super) fn result_of(&self, key: &str) -> Option<&QuestionResult> {
        self.questions.get(key)?.result.as_ref()
    }

    /// Removes the questions without a result. The next run of the call asks them again.
    pub fn remove_pending(&mut self) {
        self.questions.retain(|_key, question| question.result.is_some());
    }

    pub(super) fn contains(&self, key: &str) -> bool {
        self.questions.contains_key(key)
    }

    /// Records a result. If the results of this call become too large in total, records the error "too-large" instead.
    pub fn set_result(&mut self, key: &str, result: QuestionResult) {
        let bytes = self.bytes + result.as_ref().map_or(0, |response| response.content.bytes().len());
        let result = if bytes > QUESTION_REPLIES_BYTES_MAX { Err("too-large".to_owned()) } else { result };
        if let Some(question) = self.questions.get_mut(key) {
            self.bytes += result.as_ref().map_or(0, |response| response.content.bytes().len());
            question.result = Some(result);
        }
    }

    /// Notes a question.
    ///
    /// # Errors
    ///
    /// Fails if its key was used for a different call, or if the call has used up its questions.
    pub(super) fn ask(&mut self, key: &str, call: OutgoingCall) -> wasmtime::Result<()> {
        if let Some(question) = self.questions.get(key) {
            if question.call != call {
                wasmtime::bail!("question {key:.80?} was asked before with a different call");
            }
            return Ok(());
        }
        if self.questions.len() >= QUESTIONS_MAX {
            wasmtime::bail!("a call asks at most {QUESTIONS_MAX} questions");
        }
        let bytes = key.len() + call.path.len() + outgoing::head_size(&call.headers) + call.content.bytes().len();
        self.questions.insert(key.to_owned(), Question { call, bytes, result: None });
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
            wasmtime::bail!("an open route has no tenant: its calls cannot ask questions");
        }
        let call = outgoing::call(call, self.draft().call().hops)?;
        self.questions().ask(&key, call)?;
        let Some(result) = self.questions().result_of(&key) else { return Ok(None) };
        let response = result.as_ref().ok();
        let bytes =
            response.map_or(0, |response| response.content.bytes().len() + outgoing::head_size(&response.headers));
        self.meter_result(bytes)?;
        let result = self.questions().result_of(&key).cloned();
        Ok(result.map(|result| result.map(outgoing::response)))
    }
}
