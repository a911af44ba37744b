//! The pattern of a route: static segments and `{parameters}`, the mount included.
//!
//! Owns the syntax of paths in a manifest, and decides whether two patterns can match the same path. Handles no
//! requests. Invariant: a static segment is never empty, "." or "..", and contains no percent sign.

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
    /// Parses a pattern. `mount` is "/" or "/prefix"; `path` begins with "/". The error is the `reason` of a
    /// [`RouteConflict::Invalid`](super::RouteConflict::Invalid).
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
            return Err(format!("the parameter \"{twice}\" occurs twice"));
        }
        Ok(Pattern { segments })
    }

    /// Returns true if some path matches both patterns.
    pub(super) fn overlaps(&self, other: &Pattern) -> bool {
        self.segments.len() == other.segments.len()
            && self.segments.iter().zip(&other.segments).all(|pair| match pair {
                (Segment::Static(one), Segment::Static(two)) => one == two,
                _ => true,
            })
    }

    /// Returns the pattern with numbered parameters, so that `{id}` and `{name}` at the same position are equal.
    pub(super) fn normalized(&self) -> String {
        self.normalized_from(0)
    }

    /// Returns the normalized pattern after the first `skipped` segments; empty if there is none.
    pub(super) fn normalized_from(&self, skipped: usize) -> String {
        let mut normalized = String::new();
        for (position, segment) in self.segments.iter().enumerate().skip(skipped) {
            normalized.push('/');
            match segment {
                Segment::Static(text) => normalized.push_str(text),
                Segment::Parameter(_) => normalized.push_str(&format!("{{p{position}}}")),
            }
        }
        if skipped == 0 && normalized.is_empty() { "/".to_owned() } else { normalized }
    }

    pub(super) fn parameters(&self) -> Vec<String> {
        self.segments.iter().filter_map(Segment::parameter).map(str::to_owned).collect()
    }

    /// Returns the segment at a position if it is a version ("v1").
    pub(super) fn version_at(&self, position: usize) -> Option<&str> {
        match self.segments.get(position) {
            Some(Segment::Static(text)) if is_version(text) => Some(text),
            _ => None,
        }
    }

    /// Returns all static prefixes ("/v1", "/v1/items"), the shortest first.
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
            let valid = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
            return if valid {
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

/// Returns true for bytes that RFC 3986 allows in a segment without percent-encoding.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

/// Returns true for "v" and a digit, then letters, digits, "." or "-": "v1", "v2.1", "v1-beta".
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
    fn patterns_overlap_if_one_path_matches_both() {
        let overlap =
            |one: &str, two: &str| Pattern::parse("/", one).unwrap().overlaps(&Pattern::parse("/", two).unwrap());
        assert!(overlap("/v1/notes/{id}", "/v1/notes/{name}"));
        assert!(overlap("/v1/notes/{id}", "/v1/{kind}/new"));
        assert!(!overlap("/v1/notes/{id}", "/v1/notes"));
        assert!(!overlap("/v1/notes", "/v1/things"));
    }

    #[test]
    fn invalid_paths_are_rejected() {
        for path in ["v1", "/v1/", "/v1//x", "/v1/../x", "/v1/a%20b", "/v1/{id}.json", "/{}", "/{a}/{a}", "/{*rest}"] {
            assert!(Pattern::parse("/", path).is_err(), "{path}");
        }
        assert!(Pattern::parse("/{x}", "/v1").is_err());
    }

    #[test]
    fn version_is_v_and_a_number() {
        for (segment, expected) in
            [("v1", true), ("v10", true), ("v1.2", true), ("v", false), ("vx", false), ("1", false)]
        {
            assert_eq!(is_version(segment), expected, "{segment}");
        }
    }
}
