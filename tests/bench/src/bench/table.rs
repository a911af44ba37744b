//! Replaces the generated table between the markers of a document.

use std::{fs, path::Path};

use anyhow::Context;

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// Replaces the text between the markers of `document`.
///
/// # Errors
/// The file cannot be read or written, or has no markers.
pub fn write(document: &Path, table: &str) -> anyhow::Result<()> {
    let text = fs::read_to_string(document)?;
    let replaced = replace(&text, table).with_context(|| format!("{} has no {BEGIN} … {END}", document.display()))?;
    fs::write(document, replaced)?;
    Ok(())
}

fn replace(text: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", table.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_outside_of_the_markers_stays() {
        let text = format!("above\n{BEGIN}\nold\n{END}\nbelow\n");
        let replaced = replace(&text, "new").unwrap_or_default();
        assert_eq!(replaced, format!("above\n{BEGIN}\n\nnew\n\n{END}\nbelow\n"));
        assert_eq!(replace(&replaced, "new"), Some(replaced.clone()));
    }

    #[test]
    fn document_without_markers_is_an_error() {
        assert_eq!(replace("nothing here", "new"), None);
    }
}
