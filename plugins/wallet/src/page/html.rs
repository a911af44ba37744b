//! HTML in the making. Invariant: what is not part of the program is escaped; there is no other way in.

/// A document, or a piece of one.
#[derive(Default)]
pub struct Html(String);

impl Html {
    /// Markup: known when the program was compiled.
    pub fn raw(mut self, markup: &'static str) -> Html {
        self.0.push_str(markup);
        self
    }

    /// Anybody's text, between tags or within quotes.
    pub fn text(mut self, text: &str) -> Html {
        for character in text.chars().filter(|character| is_visible(*character)) {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
        self
    }

    pub fn number(self, number: impl Into<i64>) -> Html {
        self.text(&number.into().to_string())
    }

    /// A piece, where there is something to make it of.
    pub fn with<T>(self, given: Option<T>, piece: impl FnOnce(Html, T) -> Html) -> Html {
        match given {
            Some(given) => piece(self, given),
            None => self,
        }
    }

    pub fn when(self, is: bool, markup: &'static str) -> Html {
        if is { self.raw(markup) } else { self }
    }

    pub fn into_text(self) -> String {
        self.0
    }
}

/// The text without what could make its reader see another one.
pub fn plain(text: &str) -> String {
    text.chars().filter(|character| is_visible(*character)).collect()
}

/// Not a control character, and none that turns the direction of what follows. Marks of direction stay: languages need them.
fn is_visible(character: char) -> bool {
    let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !turns && (character == '\n' || !character.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_neither_tag_nor_attribute() {
        let made = Html::default().raw("<p title=\"").text(r#""><script>alert('1')&lt;"#).raw("\">").into_text();
        assert_eq!(made, "<p title=\"&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&amp;lt;\">");
    }

    #[test]
    fn nothing_turns_the_text_around_or_hides_in_it() {
        assert_eq!(plain("a\u{202e}b\u{0}c\u{1b}\u{2066}d\u{9b}\n\u{200f}é"), "abcd\n\u{200f}é");
        assert_eq!(Html::default().text("a\u{202e}b").into_text(), "ab");
    }
}
