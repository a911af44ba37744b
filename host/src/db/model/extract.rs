//! The values of indexed fields, out of a body, in one pass and without building a tree of it.
//!
//! Every number that is whole and fits 64 bits is an integer, however it was written ("1.0", "1e0"): the database takes
//! them for equal, so the slots of unique indexes must as well. Booleans are 0 and 1; lists and objects are null.
//! A fraction of more than 15 digits may differ in its last bit from what SQLite reads in the body: it is compared as
//! extracted here where its field is indexed, as SQLite reads it where not.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::NotJson;
use crate::changes::change_set::Field;
use crate::limits::{INDEXED_TEXT_BYTES_MAX, JSON_DEPTH_MAX};

/// What to do with a value that cannot be indexed: a text that is too long, a number that no float holds, a name that
/// stands twice in one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Of a record that a plugin writes now: say so.
    Refuse,
    /// Of a record that was lawful when it was written: the value counts as null, the second of two not at all.
    Overlook,
}

/// The paths of a collection, by their first name, then their second, …
#[derive(Debug, Default)]
pub struct FieldTree {
    root: Node,
    count: usize,
}

#[derive(Debug, Default)]
struct Node {
    name: Box<str>,
    /// Position of the column whose path ends here.
    column: Option<usize>,
    children: Vec<Node>,
}

impl FieldTree {
    pub fn new<'a>(paths: impl Iterator<Item = &'a str>) -> FieldTree {
        let mut tree = FieldTree::default();
        for path in paths {
            tree.root.add(path, tree.count);
            tree.count += 1;
        }
        tree
    }

    /// One value for each path, in their order; null where the body has none.
    pub fn extract(&self, body: &str, strictness: Strictness) -> Result<Vec<Field>, NotJson> {
        check_depth(body)?;
        let mut found = Found { fields: vec![Field::Null; self.count], seen: 0, strictness };
        let mut json = serde_json::Deserializer::from_str(body);
        json.deserialize_any(At { node: &self.root, found: &mut found })
            .and_then(|()| json.end())
            .map_err(|error| NotJson(format!("the body is refused: {error}")))?;
        Ok(found.fields)
    }
}

impl Node {
    fn add(&mut self, path: &str, column: usize) {
        let (name, rest) = match path.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (path, None),
        };
        let position = self.children.iter().position(|child| &*child.name == name).unwrap_or_else(|| {
            self.children.push(Node { name: name.into(), ..Node::default() });
            self.children.len() - 1
        });
        let Some(child) = self.children.get_mut(position) else { return };
        match rest {
            Some(rest) => child.add(rest, column),
            None => child.column = Some(column),
        }
    }
}

/// Counts brackets outside of texts. The parser skips what is not indexed without looking at its depth.
fn check_depth(body: &str) -> Result<(), NotJson> {
    // Most bodies have fewer brackets than levels are allowed: counting them takes a tenth of the time.
    let brackets = body.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if brackets <= JSON_DEPTH_MAX {
        return Ok(());
    }
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in body.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > JSON_DEPTH_MAX {
                    return Err(NotJson(format!("the body is nested deeper than {JSON_DEPTH_MAX} levels")));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

struct Found {
    fields: Vec<Field>,
    /// A bit for each column that was met already.
    seen: u64,
    strictness: Strictness,
}

/// Reads the value that stands at one node of the tree.
struct At<'a> {
    node: &'a Node,
    found: &'a mut Found,
}

impl At<'_> {
    fn set<E: Error>(self, field: Field) -> Result<(), E> {
        let Some(column) = self.node.column else { return Ok(()) };
        let bit = 1_u64.checked_shl(u32::try_from(column).unwrap_or(u32::MAX)).unwrap_or(0);
        if self.found.seen & bit != 0 {
            if self.found.strictness == Strictness::Overlook {
                // The first one counts, as it does for SQLite.
                return Ok(());
            }
            return Err(E::custom(format!("\"{}\" stands twice in one object", self.node.name)));
        }
        self.found.seen |= bit;
        if let Some(slot) = self.found.fields.get_mut(column) {
            *slot = field;
        }
        Ok(())
    }

    fn set_text<E: Error>(self, text: &str) -> Result<(), E> {
        if self.node.column.is_none() {
            return Ok(());
        }
        if text.len() <= INDEXED_TEXT_BYTES_MAX && !text.contains('\0') {
            return self.set(Field::Text(Arc::from(text)));
        }
        match self.found.strictness {
            Strictness::Overlook => self.set(Field::Null),
            Strictness::Refuse => Err(E::custom(format!(
                "\"{}\" is indexed: its text may have {INDEXED_TEXT_BYTES_MAX} bytes and no NUL",
                self.node.name
            ))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.found.strictness == Strictness::Refuse {
            return deserializer.deserialize_any(self);
        }
        // JSON allows more than can be read: 1e999, half of a surrogate pair. It was stored when nothing looked at it.
        let lawful: &RawValue = Deserialize::deserialize(deserializer)?;
        let _unreadable = serde_json::Deserializer::from_str(lawful.get()).deserialize_any(self);
        Ok(())
    }
}

impl<'de> Visitor<'de> for At<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("one JSON text")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.set(Field::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.set(Field::Integer(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.set(Field::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.set(i64::try_from(value).map_or(Field::Real(value as f64), Field::Integer))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.set(number(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.set_text(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        self.set(Field::Null)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(child) = object.next_key_seed(NameOf(self.node))? {
            match child {
                Some(node) => object.next_value_seed(At { node, found: &mut *self.found })?,
                None => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        self.set(Field::Null)
    }
}

/// A number as it is indexed and compared.
pub(in crate::db) fn number(value: f64) -> Field {
    // The first float above all 64-bit integers; the lowest integer is a float.
    const ABOVE: f64 = 9_223_372_036_854_775_808.0;
    if value.fract() == 0.0 && (-ABOVE..ABOVE).contains(&value) {
        Field::Integer(value as i64)
    } else {
        Field::Real(value)
    }
}

/// The name of a member: which child of the node it leads to, if any.
struct NameOf<'a>(&'a Node);

impl<'de, 'a> DeserializeSeed<'de> for NameOf<'a> {
    type Value = Option<&'a Node>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for NameOf<'a> {
    type Value = Option<&'a Node>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.children.iter().find(|child| &*child.name == name))
    }
}
