//! Files that come by themselves (research/fleet 1.5): pictures, and what is said of them beside. The bytes never change.

use super::change::{Change, Faults};
use super::invalid::Invalid;
use super::picture::{BYTES_MAX, Field, Format};

/// Of one driver, who sends them by himself: they fill 80 MiB at most.
pub const OF_DRIVER_MAX: u32 = 20;

/// In a form.
pub const FILE: Field = Field { name: "file", kind: "a PNG, JPEG or GIF picture", bytes_max: BYTES_MAX };
/// In JSON.
pub const DATA: Field = Field { name: "data", kind: "a PNG, JPEG or GIF picture as base64", bytes_max: BYTES_MAX };

const DEFAULT_KIND: &str = "attachment";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// A word of the caller's own: "attachment", "licence".
    pub kind: String,
    pub filename: String,
    pub caption: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    pub kind: Change<String>,
    pub filename: Change<String>,
    pub caption: Change<String>,
}

/// What is not said, or taken back, is a word and a name of our own.
pub fn settle(before: Option<Said>, asked: Asked, format: Format) -> Result<Said, Vec<Invalid>> {
    let before = before.unwrap_or_default();
    let mut faults = Faults::default();
    let kind = faults.line(("type", 64), asked.kind, Some(before.kind)).unwrap_or_else(|| DEFAULT_KIND.to_owned());
    let filename = faults.line(("filename", 255), without_folders(asked.filename), Some(before.filename));
    let filename = filename.unwrap_or_else(|| [DEFAULT_KIND, ".", format.extension()].concat());
    let caption = faults.lines(("caption", 500), asked.caption, before.caption);
    faults.finish(Said { kind, filename, caption })
}

/// Some clients send where the file lay on their own disk.
fn without_folders(filename: Change<String>) -> Change<String> {
    match filename {
        Change::To(path) => Change::To(path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(text: &str) -> Change<String> {
        Change::To(text.to_owned())
    }

    #[test]
    fn a_file_needs_no_words() {
        let said = settle(None, Asked::default(), Format::Jpeg).unwrap();
        assert_eq!((said.kind.as_str(), said.filename.as_str(), said.caption), ("attachment", "attachment.jpg", None));
    }

    #[test]
    fn what_is_absent_stays_and_what_is_null_goes() {
        let asked = Asked { kind: to("licence"), filename: to("front.png"), caption: to("Front\nof it") };
        let before = settle(None, asked, Format::Png).unwrap();
        assert_eq!(settle(Some(before.clone()), Asked::default(), Format::Png), Ok(before.clone()));
        let cleared = Asked { caption: Change::Cleared, filename: to(" "), ..Asked::default() };
        let after = settle(Some(before), cleared, Format::Png).unwrap();
        assert_eq!((after.kind.as_str(), after.filename.as_str(), after.caption), ("licence", "attachment.png", None));
    }

    #[test]
    fn what_a_driver_sends_fills_80_mib_at_most() {
        assert_eq!(OF_DRIVER_MAX as usize * BYTES_MAX, 80 << 20);
    }

    #[test]
    fn a_name_has_no_folders() {
        for (written, kept) in
            [("C:\\Users\\ada\\a.png", "a.png"), ("../../etc/passwd", "passwd"), ("dir/", "attachment.png")]
        {
            let said = settle(None, Asked { filename: to(written), ..Asked::default() }, Format::Png).unwrap();
            assert_eq!(said.filename, kept, "{written}");
        }
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let asked = Asked { kind: to(&"x".repeat(65)), filename: to("a\0b"), caption: to(&"x".repeat(501)) };
        assert_eq!(settle(None, asked, Format::Png).unwrap_err().len(), 3);
    }
}
