//! Lists that their handler finds and puts in order by itself: the filters narrow, the page is cut here.

use tenon_plugin::records::{Entry, Search};
use tenon_plugin::{Call, Outcome, Stop};

use super::Asked;

impl Asked {
    /// With what the filters say, for an index of the handler's own.
    pub fn narrowed(&self, search: Search) -> Search {
        self.conditions.iter().fold(search, |search, (field, how)| search.with(field, how.clone()))
    }

    /// `show` gives one JSON text for each entry of the page.
    pub fn answer_ranked(
        self,
        call: &Call,
        ranked: Vec<Entry>,
        show: impl Fn(&[Entry]) -> Result<Vec<String>, Stop>,
    ) -> Outcome {
        let total = ranked.len().to_string();
        let page = ranked.into_iter().skip(self.pages.offset as usize).take(self.pages.limit as usize);
        let entries: Vec<Entry> = page.collect();
        let shown = show(&entries)?;
        let count = u32::try_from(shown.len()).unwrap_or(u32::MAX);
        self.respond(call, &shown, (count, total))
    }
}
