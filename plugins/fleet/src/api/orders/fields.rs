//! The fields of an order by their paths ("meta.fragile", "driver.name"), for the conditions and texts of its
//! configuration. What an order refers to is looked up only where a path asks for it, and once.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use tenon_plugin::Call;
use tenon_plugin::json::Object;

use crate::records::orders::{HIDDEN, text};
use crate::records::{contacts, drivers, payloads, vehicles};

/// What a field holds, by its name; `None`: nothing that is there.
type Looked<'o> = RefCell<BTreeMap<String, Option<Cow<'o, str>>>>;

/// Finds by a path, as a text; `None`: absent, null, or no single value.
pub fn of<'o>(call: &'o Call, order: &'o Object) -> impl Fn(&str) -> Option<String> + 'o {
    let looked = Looked::default();
    move |path| find(call, order, path, &looked)
}

fn find<'o>(call: &Call, order: &'o Object, path: &str, looked: &Looked<'o>) -> Option<String> {
    let (field, rest) = split(path);
    if HIDDEN.contains(&field) {
        return None;
    }
    let Some(rest) = rest else { return walk(order.given(field)?, None) };
    let mut looked = looked.borrow_mut();
    let value = looked.entry(field.to_owned()).or_insert_with(|| referred(call, order, field));
    walk(value.as_deref()?, Some(rest))
}

/// What the field holds, or the record that it names.
fn referred<'o>(call: &Call, order: &'o Object, field: &str) -> Option<Cow<'o, str>> {
    let one = |id: &String| vec![id.clone()];
    let record = match field {
        "driver" | "driver_assigned" => drivers::find_one(call, &text(order, "driver_assigned")?)?,
        "vehicle" | "vehicle_assigned" => {
            let id = text(order, "vehicle_assigned")?;
            vehicles::load_many(call, &one(&id)).remove(&id)?
        }
        "customer" => {
            let id = text(order, "customer")?;
            contacts::load_many(call, &one(&id)).remove(&id)?
        }
        "payload" => {
            let id = text(order, "payload")?;
            payloads::load_many(call, &one(&id)).remove(&id)?
        }
        other => return order.given(other).map(Cow::Borrowed),
    };
    Some(Cow::Owned(record))
}

fn walk(value: &str, path: Option<&str>) -> Option<String> {
    let Some(path) = path else { return single(value) };
    let (field, rest) = split(path);
    let object = Object::parse(value).ok()?;
    walk(object.given(field)?, rest)
}

fn split(path: &str) -> (&str, Option<&str>) {
    path.split_once('.').map_or((path, None), |(field, rest)| (field, Some(rest)))
}

fn single(value: &str) -> Option<String> {
    match value.as_bytes().first()? {
        b'"' => serde_json::from_str(value).ok(),
        b'{' | b'[' => None,
        _ => (value != "null").then(|| value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_a_single_value_or_to_nothing() {
        let value = r#"{"a":{"b":[1],"c":true,"d":"x\n","e":null,"f":1.50}}"#;
        let table = [
            ("a.c", Some("true")),
            ("a.d", Some("x\n")),
            ("a.f", Some("1.50")),
            ("a.b", None),
            ("a.e", None),
            ("a", None),
            ("a.c.d", None),
            ("", None),
            ("b", None),
        ];
        for (path, expected) in table {
            assert_eq!(walk(value, Some(path)).as_deref(), expected, "{path}");
        }
    }
}
