//! The pattern of a route: static segments and `{parameters}`, the mount included.
//!
//! Owns what a path in a manifest may look like and when two patterns can match the same address. Never looks at a
//! request. Invariant: a static segment is never empty, "." or "..", and holds no percent sign.

/// A path of a manifest below its mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Static(String),
    Parameter(String),
}

impl Pattern {
    /// `mount` is "/" or "/prefix"; `path` begins with "/". The error is a sentence without its subject.
    pub(super) fn parse(mount: &str, path: &str) -> Result<Pattern, String> {
        let mut segments = Vec::new();
        for part in [mount, path] {
            let Some(rest) = part.strip_prefix('/') else {
                return Err(format!("\"{part}\" does not begin with \"/\""));
            };
            if !rest.is_empty() {
                for text in rest.split('/') {
                    segments.push(Segment::parse(text)?);
                }
            }
        }
        if mount.contains('{') {
            return Err(format!("the mount \"{mount}\" has a parameter"));
        }
        let names: Vec<&str> = segments.iter().filter_map(Segment::parameter).collect();
        if let Some(twice) = names.iter().enumerate().find_map(|(i, name)| names.iter().take(i).find(|n| *n == name)) {
            return Err(format!("the parameter \"{twice}\" stands twice"));
        }
        Ok(Pattern { segments })
    }

    /// Whether some address matches both.
    pub(super) fn meets(&self, other: &Pattern) -> bool {
        self.segments.len() == other.segments.len()
            && self.segments.iter().zip(&other.segments).all(|pair| match pair {
                (Segment::Static(one), Segment::Static(two)) => one == two,
                _ => true,
            })
    }

    /// The pattern with its parameters numbered, so that `{id}` and `{name}` in the same place are one shape.
    pub(super) fn shape(&self) -> String {
        self.shape_from(0)
    }

    /// The shape of what follows the first `skipped` segments; empty if nothing does.
    pub(super) fn shape_from(&self, skipped: usize) -> String {
        let mut shape = String::new();
        for (position, segment) in self.segments.iter().enumerate().skip(skipped) {
            shape.push('/');
            match segment {
                Segment::Static(text) => shape.push_str(text),
                Segment::Parameter(_) => shape.push_str(&format!("{{p{position}}}")),
            }
        }
        if skipped == 0 && shape.is_empty() { "/".to_owned() } else { shape }
    }

    pub(super) fn parameters(&self) -> Vec<String> {
        self.segments.iter().filter_map(Segment::parameter).map(str::to_owned).collect()
    }

    /// "v1" where the segment at this position is a version.
    pub(super) fn version_at(&self, position: usize) -> Option<&str> {
        match self.segments.get(position) {
            Some(Segment::Static(text)) if is_version(text) => Some(text),
            _ => None,
        }
    }

    /// "/v1", "/v1/items": every run of static segments from the start, shortest first.
    pub(super) fn static_prefixes(&self) -> Vec<String> {
        let mut prefix = String::new();
        let mut prefixes = Vec::new();
        for segment in &self.segments {
            let Segment::Static(text) = segment else { break };
            prefix.push('/');
            prefix.push_str(text);
            prefixes.push(prefix.clone());
        }
        prefixes
    }
}

impl Segment {
    fn parse(text: &str) -> Result<Segment, String> {
        if let Some(name) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            let sound = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
            return if sound {
                Ok(Segment::Parameter(name.to_owned()))
            } else {
                Err(format!("\"{{{name}}}\" is not a parameter: letters, digits, \"_\" and \"-\" make its name"))
            };
        }
        if text.is_empty() {
            return Err("it has an empty segment (a slash at the end, or two in a row)".to_owned());
        }
        if text == "." || text == ".." || !text.bytes().all(is_plain) {
            return Err(format!("the segment \"{text}\" is neither plain text nor one whole {{parameter}}"));
        }
        Ok(Segment::Static(text.to_owned()))
    }

    fn parameter(&self) -> Option<&str> {
        match self {
            Segment::Parameter(name) => Some(name),
            Segment::Static(_) => None,
        }
    }
}

/// What RFC 3986 allows in a segment without percent-encoding.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

/// "v" and a digit, then letters, digits, "." or "-": "v1", "v2.1", "v1-beta".
pub(super) fn is_version(segment: &str) -> bool {
    let mut bytes = segment.bytes();
    bytes.next() == Some(b'v')
        && bytes.next().is_some_and(|b| b.is_ascii_digit())
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_meet_where_one_address_matches_both() {
        let meet = |one: &str, two: &str| Pattern::parse("/", one).unwrap().meets(&Pattern::parse("/", two).unwrap());
        assert!(meet("/v1/notes/{id}", "/v1/notes/{name}"));
        assert!(meet("/v1/notes/{id}", "/v1/{kind}/new"));
        assert!(!meet("/v1/notes/{id}", "/v1/notes"));
        assert!(!meet("/v1/notes", "/v1/things"));
    }

    #[test]
    fn unsound_paths_are_refused() {
        for path in ["v1", "/v1/", "/v1//x", "/v1/../x", "/v1/a%20b", "/v1/{id}.json", "/{}", "/{a}/{a}", "/{*rest}"] {
            assert!(Pattern::parse("/", path).is_err(), "{path}");
        }
        assert!(Pattern::parse("/{x}", "/v1").is_err());
    }

    #[test]
    fn a_version_is_v_and_a_number() {
        for (segment, expected) in
            [("v1", true), ("v10", true), ("v1.2", true), ("v", false), ("vx", false), ("1", false)]
        {
            assert_eq!(is_version(segment), expected, "{segment}");
        }
    }
}
