//! Converts the collections of a manifest to a checked model. Error messages are for the plugin's author.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::extract::FieldTree;
use super::{Collection, Column, DataModel, Index, IndexField, ModelError, Owner};
use crate::changes::host_collections::{HOST_COLLECTIONS, HOST_PREFIX};
use crate::limits::{
    COLLECTIONS_MAX, FIELD_PATH_BYTES_MAX, INDEX_FIELDS_MAX, INDEXED_FIELDS_MAX, INDEXES_MAX, NAME_BYTES_MAX,
};
use crate::manifest;

impl DataModel {
    /// Creates the model of a plugin.
    ///
    /// `reads_from` is the oldest data version that the plugin reads. `None` means that it reads only `data_version`.
    pub fn new(
        plugin: &str,
        collections: &[manifest::Collection],
        data_version: u32,
        reads_from: Option<u32>,
    ) -> Result<DataModel, ModelError> {
        check_name("plugin", plugin)?;
        if plugin == "sqlite" {
            return invalid("a plugin cannot be called sqlite: the database reserves table names with that prefix");
        }
        let reads_from = reads_from.unwrap_or(data_version);
        if data_version == 0 || reads_from == 0 || reads_from > data_version {
            return invalid(format!("reads-data-from {reads_from} must lie between 1 and data-version {data_version}"));
        }
        if collections.len() > COLLECTIONS_MAX {
            return invalid(format!("{} collections, at most {COLLECTIONS_MAX} are allowed", collections.len()));
        }
        let mut model = DataModel { plugin: plugin.into(), data_version, reads_from, collections: BTreeMap::new() };
        for declared in collections {
            if Owner::of(&declared.name) == Owner::Host {
                return invalid(format!(
                    "collection {}: names that begin with {HOST_PREFIX} are reserved for the host",
                    declared.name
                ));
            }
            let collection = collection(plugin, declared)?;
            if model.collections.insert(collection.name.clone(), Arc::new(collection)).is_some() {
                return invalid(format!("collection {} is declared twice", declared.name));
            }
        }
        for (name, fields) in HOST_COLLECTIONS {
            let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
            let index = manifest::Index { name: "by-due".to_owned(), fields, unique: false };
            let indexes = if index.fields.is_empty() { Vec::new() } else { vec![index] };
            let declared = manifest::Collection { name: name.to_owned(), indexes };
            let collection = collection(plugin, &declared)?;
            model.collections.insert(collection.name.clone(), Arc::new(collection));
        }
        Ok(model)
    }
}

pub(super) fn collection(plugin: &str, declared: &manifest::Collection) -> Result<Collection, ModelError> {
    check_name("collection", &declared.name)?;
    let owner = Owner::of(&declared.name);
    let at = |text: String| ModelError::Invalid(format!("collection {}: {text}", declared.name));
    if declared.indexes.len() > INDEXES_MAX {
        return Err(at(format!("{} indexes, at most {INDEXES_MAX} are allowed", declared.indexes.len())));
    }
    let mut columns = Vec::new();
    let mut indexes: Vec<Index> = Vec::new();
    for declared in &declared.indexes {
        let index = index(declared, &mut columns).map_err(&at)?;
        if indexes.iter().any(|other| other.name == index.name) {
            return Err(at(format!("index {} is declared twice", index.name)));
        }
        indexes.push(index);
    }
    if columns.len() > INDEXED_FIELDS_MAX {
        return Err(at(format!("{} indexed fields, at most {INDEXED_FIELDS_MAX} are allowed", columns.len())));
    }
    let tree = FieldTree::new(columns.iter().map(|column: &Column| &*column.path));
    let table = format!("{plugin}_{}", declared.name).into();
    let mut collection =
        Collection { name: declared.name.as_str().into(), owner, columns, indexes: Vec::new(), table, tree };
    let named = |index: Index| Index { id: index_id(&collection, &index), ..index };
    collection.indexes = indexes.into_iter().map(named).collect();
    Ok(collection)
}

fn index_id(collection: &Collection, index: &Index) -> Arc<str> {
    let fields: Vec<&str> = index.fields.iter().map(|field| collection.sql_of(*field)).collect();
    let hash = Sha256::digest(format!("{} {fields:?}", index.unique));
    let hash: String = hex::encode(hash).chars().take(8).collect();
    format!("{}.{}.{hash}", collection.table, index.name).into()
}

fn index(declared: &manifest::Index, columns: &mut Vec<Column>) -> Result<Index, String> {
    check_name("index", &declared.name).map_err(|error| error.to_string())?;
    let at = |text: String| format!("index {}: {text}", declared.name);
    if declared.fields.is_empty() || declared.fields.len() > INDEX_FIELDS_MAX {
        return Err(at(format!("needs 1 to {INDEX_FIELDS_MAX} fields")));
    }
    let mut fields = Vec::new();
    for path in &declared.fields {
        let field = match path.as_str() {
            "@id" => IndexField::Id,
            "@created-at" => IndexField::CreatedAt,
            "@updated-at" => IndexField::UpdatedAt,
            path if is_path(path) => IndexField::Column(column(path, columns)),
            _ => return Err(at(format!("\"{path}\" is not a path into the JSON, @id, @created-at or @updated-at"))),
        };
        if declared.unique && !matches!(field, IndexField::Column(_)) {
            return Err(at(format!("{path} cannot be part of a unique index")));
        }
        if fields.contains(&field) {
            return Err(at(format!("{path} occurs twice")));
        }
        fields.push(field);
    }
    let (name, id) = (declared.name.as_str().into(), "".into());
    Ok(Index { name, id, fields, unique: declared.unique })
}

fn column(path: &str, columns: &mut Vec<Column>) -> usize {
    if let Some(position) = columns.iter().position(|column| &*column.path == path) {
        return position;
    }
    columns.push(Column { path: path.into(), sql: column_sql(path).into() });
    columns.len() - 1
}

/// Returns the quoted column name of a path.
pub(super) fn column_sql(path: &str) -> String {
    let mut sql = String::from("\".");
    for letter in path.chars() {
        if letter.is_ascii_uppercase() {
            sql.push('^');
        }
        sql.push(letter.to_ascii_lowercase());
    }
    sql.push('"');
    sql
}

/// Returns true for names joined by full stops. A name consists of letters, digits, underscores and hyphens.
pub(in crate::db) fn is_path(path: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    };
    path.len() <= FIELD_PATH_BYTES_MAX && path.split('.').all(is_name)
}

fn check_name(what: &str, name: &str) -> Result<(), ModelError> {
    let fits = (1..=NAME_BYTES_MAX).contains(&name.len());
    let letters = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if fits && letters {
        return Ok(());
    }
    invalid(format!("{what} \"{name}\": a name must have 1 to {NAME_BYTES_MAX} lower case letters, digits and hyphens"))
}

fn invalid<T>(text: impl Into<String>) -> Result<T, ModelError> {
    Err(ModelError::Invalid(text.into()))
}
