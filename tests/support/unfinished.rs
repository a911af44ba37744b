//! What fails the test that forgets to look at what happened on its stage.

#[derive(Default)]
pub struct Unfinished {
    is_over: bool,
}

impl Unfinished {
    /// The stage looks now.
    pub fn end(&mut self) {
        self.is_over = true;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        assert!(self.is_over || std::thread::panicking(), "the stage was not finished");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "the stage was not finished")]
    fn a_stage_that_is_forgotten_fails_its_test() {
        drop(Unfinished::default());
    }

    #[test]
    fn a_stage_that_was_looked_at_does_not() {
        let mut unfinished = Unfinished::default();
        unfinished.end();
    }
}
