//! The table in the README is generated: what stands between the markers is replaced by a run.

use std::{fs, path::Path};

use anyhow::Context;

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

pub fn write_table(readme: &Path, table: &str) -> anyhow::Result<()> {
    let text = fs::read_to_string(readme)?;
    let replaced = replace(&text, table).with_context(|| format!("{} has no {BEGIN} … {END}", readme.display()))?;
    fs::write(readme, replaced)?;
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
    fn only_what_stands_between_the_markers_is_replaced() {
        let text = format!("above\n{BEGIN}\nold\n{END}\nbelow\n");
        let replaced = replace(&text, "new").unwrap_or_default();
        assert_eq!(replaced, format!("above\n{BEGIN}\n\nnew\n\n{END}\nbelow\n"));
        assert_eq!(replace(&replaced, "new"), Some(replaced.clone()));
    }

    #[test]
    fn a_readme_without_markers_is_an_error() {
        assert_eq!(replace("nothing here", "new"), None);
    }
}
