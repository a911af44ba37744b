//! multipart/form-data (RFC 7578): a body that is in memory, taken apart without copying it.
//!
//! Strict: what is not exactly a list of named parts is none. Invariants: never more parts or longer heads than the bounds
//! below; every byte is looked at once or twice, however hostile the body.

#[cfg(test)]
mod tests;

use memchr::memmem::Finder;

pub const MEDIA_TYPE: &str = "multipart/form-data";
/// Of one body.
pub const PARTS_MAX: usize = 32;
/// Bytes of the lines above one part.
const HEAD_BYTES_MAX: usize = 4_096;
/// Bytes of a boundary (RFC 2046).
const BOUNDARY_BYTES_MAX: usize = 70;

#[derive(Clone, Debug, PartialEq)]
pub struct Part<'a> {
    pub name: String,
    /// As whoever wrote the form calls the file.
    pub file_name: Option<String>,
    pub bytes: &'a [u8],
}

/// `None`: the body is not what its media type says, or more than anybody sends.
pub fn parse<'a>(media_type: &str, body: &'a [u8]) -> Option<Vec<Part<'a>>> {
    let delimiter = ["\r\n--", &boundary(media_type)?].concat();
    let finder = Finder::new(delimiter.as_bytes());
    // The first delimiter has no line before it.
    let first = delimiter.as_bytes().get(2..)?;
    let mut rest = body.strip_prefix(b"\r\n".as_slice()).unwrap_or(body).strip_prefix(first)?;
    let mut parts = Vec::new();
    while let Some(part) = after_delimiter(rest)? {
        if parts.len() == PARTS_MAX {
            return None;
        }
        let (name, file_name, content) = head(part)?;
        let length = finder.find(content)?;
        let (bytes, behind) = content.split_at_checked(length)?;
        parts.push(Part { name, file_name, bytes });
        rest = behind.get(delimiter.len()..)?;
    }
    Some(parts)
}

/// The bytes of the next part, its head included; `Some(None)`: this was the last delimiter, and the body ends.
fn after_delimiter(rest: &[u8]) -> Option<Option<&[u8]>> {
    if let Some(end) = rest.strip_prefix(b"--".as_slice()) {
        return end.iter().all(|byte| b" \t\r\n".contains(byte)).then_some(None);
    }
    // A gateway may pad the line.
    let padding = rest.iter().take(BOUNDARY_BYTES_MAX).take_while(|byte| b" \t".contains(byte)).count();
    rest.get(padding..)?.strip_prefix(b"\r\n".as_slice()).map(Some)
}

/// The name of a part, that of its file, and its bytes with all that follows. The bytes keep the line end before them where they are
/// empty, since the next delimiter begins with it.
fn head(part: &[u8]) -> Option<(String, Option<String>, &[u8])> {
    let bound = part.get(..HEAD_BYTES_MAX).unwrap_or(part);
    let length = memchr::memmem::find(bound, b"\r\n\r\n")?;
    let (lines, content) = part.split_at_checked(length)?;
    let (mut name, mut file_name) = (None, None);
    for line in std::str::from_utf8(lines).ok()?.split("\r\n") {
        let (field, value) = line.split_once(':')?;
        if field.eq_ignore_ascii_case("content-disposition") {
            name = Some(parameter(value, "form-data", "name")?);
            file_name = parameter(value, "form-data", "filename");
        }
        // Nobody may send one any more (RFC 7578, 4.7); some send that there is none.
        let is_coded = !["binary", "8bit", "7bit"].contains(&value.trim().to_ascii_lowercase().as_str());
        if field.eq_ignore_ascii_case("content-transfer-encoding") && is_coded {
            return None;
        }
    }
    Some((name?, file_name, content.get(4..)?))
}

fn boundary(media_type: &str) -> Option<String> {
    let boundary = parameter(media_type, MEDIA_TYPE, "boundary")?;
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&byte);
    let sound = (1..=BOUNDARY_BYTES_MAX).contains(&boundary.len()) && boundary.bytes().all(is_allowed);
    (sound && !boundary.ends_with(' ')).then_some(boundary)
}

/// A parameter of a header whose value begins with this word: `form-data; name="photos[]"; filename="a;b.jpg"`.
fn parameter(header: &str, word: &str, wanted: &str) -> Option<String> {
    let (kind, mut rest) = header.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case(word) {
        return None;
    }
    loop {
        let (name, value) = rest.split_once('=')?;
        let (value, behind) = parameter_value(value.trim_start())?;
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = behind.trim_start().strip_prefix(';')?;
    }
}

/// A quoted text or a word, and what stands behind it.
fn parameter_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let length = text.find(';').unwrap_or(text.len());
        let (word, behind) = text.split_at_checked(length)?;
        let word = word.trim_end();
        return (!word.is_empty() && !word.contains(['"', ' ', '\t'])).then(|| (word.to_owned(), behind));
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, quoted.get(at + 1..)?)),
            // Browsers write %22 for a quotation mark; others write a backslash before it, and none before anything else.
            '\\' if quoted.get(at + 1..)?.starts_with(['"', '\\']) => {
                value.extend(letters.next().map(|(_, next)| next))
            }
            _ => value.push(letter),
        }
    }
    None
}
