//! A parser for the parts of Markdown that the tests need: fenced blocks and links.

#[derive(Clone, Debug)]
pub struct Block {
    pub language: String,
    pub text: String,
    /// The number of its first line, from 1.
    pub line: usize,
}

pub fn blocks(markdown: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in markdown.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(language), None) => {
                let language = language.split(',').next().unwrap_or_default().to_owned();
                open = Some(Block { language, text: String::new(), line: number + 2 });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (None, Some(block)) => block.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block that never ends: {open:?}");
    found
}

/// Returns the targets of `[text](target)`.
pub fn links(markdown: &str) -> Vec<String> {
    let after = markdown.split("](").skip(1);
    after.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

#[test]
fn blocks_and_links_are_found() {
    let [block] = &blocks("a\n```rust,ignore\nfn x() {}\n```\nb")[..] else { panic!("one block") };
    assert_eq!((block.language.as_str(), block.text.as_str(), block.line), ("rust", "fn x() {}\n", 3));
    assert_eq!(links("see [a](b.md#c) and [d](e)"), ["b.md#c", "e"]);
}
