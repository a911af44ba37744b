//! Selects the index for a query, which determines the order of the records.
//!
//! A query fixes leading fields of an index by `equal`. One of these fields may have a `one-of` instead, which is
//! looked up value by value. The remaining fields order the records. The index can serve the query if the remaining
//! fields begin with the sort fields, and if a condition narrows it or the query has no conditions. The primary key
//! serves as an index on "@id".

use super::condition::{Sql, field_of, index_field};
use super::{Comparison, Condition, FindError, Sort, misuse};
use crate::changes::change_set::Field;
use crate::db::model::{Collection, Index, IndexField};
use crate::limits::ONE_OF_MERGED_MAX;

#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub collection: &'a Collection,
    /// `None`: the primary key.
    index: Option<&'a Index>,
    /// The fields that order the records, all in one direction. The last one is the id.
    pub order: Vec<IndexField>,
    pub descending: bool,
    /// The `one-of` that is looked up value by value.
    merged: Option<(IndexField, Vec<Field>)>,
    /// Degree to which conditions narrow the index. The plan with the highest value is chosen.
    narrowed: usize,
}

/// A bound of a range of the index.
pub(super) enum Bound {
    Is(IndexField, Field),
    Above(IndexField, Field),
    Below(IndexField, Field),
    IsNotNull(IndexField),
}

impl Bound {
    pub fn push(self, sql: &mut Sql, collection: &Collection) {
        match self {
            Bound::Is(field, value) => sql.compare(collection.sql_of(field), "=", value),
            Bound::Above(field, value) => sql.compare(collection.sql_of(field), ">", value),
            Bound::Below(field, value) => sql.compare(collection.sql_of(field), "<", value),
            Bound::IsNotNull(field) => sql.push(&format!("{} IS NOT NULL", collection.sql_of(field))),
        }
    }
}

/// Conditions and sort with resolved fields. Conditions on fields without an index are left out, because they only
/// filter.
struct ResolvedQuery<'a> {
    conditions: Vec<(IndexField, &'a Comparison)>,
    /// `None` if a sort field is in no index.
    sort: Option<Vec<IndexField>>,
    descending: bool,
}

impl<'a> Plan<'a> {
    pub fn new(collection: &'a Collection, conditions: &[Condition], sort: &[Sort]) -> Result<Plan<'a>, FindError> {
        let query = ResolvedQuery::new(collection, conditions, sort)?;
        let mut best: Option<Plan<'a>> = None;
        let indexes = std::iter::once(None).chain(collection.indexes.iter().map(Some));
        for plan in indexes.filter_map(|index| query.plan_with(collection, index).transpose()) {
            let plan = plan?;
            let serves = conditions.is_empty() || plan.narrowed > 0;
            if serves && best.as_ref().is_none_or(|best| plan.narrowed > best.narrowed) {
                best = Some(plan);
            }
        }
        best.map_or_else(|| misuse(suggest_index(collection, conditions, sort)), Ok)
    }

    /// Returns the SQL after FROM.
    ///
    /// It names the index, so that SQLite does not choose one that requires a sort. A unique index is not named,
    /// because a newer generation may have replaced it.
    pub fn source(&self) -> String {
        let table = &self.collection.table;
        match self.index {
            Some(index) if !index.unique => {
                format!("\"{table}\" INDEXED BY \"{}\"", index.id)
            }
            _ => format!("\"{table}\""),
        }
    }

    /// Returns the ranges of the index that contain the records after the cursor, or all records if there is no cursor.
    /// Each range is a list of bounds.
    pub fn ranges(&self, after: Option<&[Field]>) -> Vec<Vec<Bound>> {
        let values = match &self.merged {
            Some((field, values)) => values.iter().map(|value| Some((*field, value.clone()))).collect(),
            None => vec![None],
        };
        let mut ranges = Vec::new();
        for value in values {
            for mut range in self.ranges_after(after) {
                range.extend(value.clone().map(|(field, value)| Bound::Is(field, value)));
                ranges.push(range);
            }
        }
        ranges
    }

    /// Returns, for each field of the order, a range of the records that equal the cursor in the preceding fields and
    /// come after it in that field. In descending order, a field that may be null adds a second range for the nulls, or
    /// no range if the cursor is null there.
    ///
    /// Null sorts before all values.
    fn ranges_after(&self, after: Option<&[Field]>) -> Vec<Vec<Bound>> {
        let Some(after) = after else { return vec![Vec::new()] };
        let mut ranges = Vec::new();
        for (position, (field, value)) in self.order.iter().zip(after).enumerate() {
            let is_null = *value == Field::Null;
            let mut bounds = match (self.descending, is_null) {
                (false, true) => vec![Bound::IsNotNull(*field)],
                (false, false) => vec![Bound::Above(*field, value.clone())],
                (true, true) => Vec::new(),
                (true, false) => vec![Bound::Below(*field, value.clone())],
            };
            if self.descending && !is_null && matches!(field, IndexField::Column(_)) {
                bounds.push(Bound::Is(*field, Field::Null));
            }
            let equal =
                || self.order.iter().zip(after).take(position).map(|(field, value)| Bound::Is(*field, value.clone()));
            ranges.extend(bounds.into_iter().map(|bound| equal().chain([bound]).collect()));
        }
        ranges
    }
}

impl<'a> ResolvedQuery<'a> {
    fn new(
        collection: &Collection,
        conditions: &'a [Condition],
        sort: &[Sort],
    ) -> Result<ResolvedQuery<'a>, FindError> {
        let descending = sort.first().is_some_and(|sort| sort.descending);
        if sort.iter().any(|sort| sort.descending != descending) {
            return misuse(format!("find in {}: all fields of a sort must have the same direction", collection.name));
        }
        let mut resolved = Vec::new();
        for condition in conditions {
            if let Some(field) = index_field(collection, &condition.field)? {
                resolved.push((field, &condition.comparison));
            }
        }
        let sort: Vec<Option<IndexField>> =
            sort.iter().map(|sort| index_field(collection, &sort.field)).collect::<Result<_, _>>()?;
        let is_fixed = |field: &IndexField| {
            resolved.iter().any(|(other, comparison)| other == field && matches!(comparison, Comparison::Equal(_)))
        };
        let sort: Option<Vec<IndexField>> = sort.into_iter().collect();
        // A field that is fixed by a condition does not affect the order.
        let sort = sort.map(|sort| sort.into_iter().filter(|field| !is_fixed(field)).collect());
        Ok(ResolvedQuery { conditions: resolved, sort, descending })
    }

    fn comparison(&self, field: IndexField, is: impl Fn(&Comparison) -> bool) -> Option<&'a Comparison> {
        self.conditions
            .iter()
            .find(|(other, comparison)| *other == field && is(comparison))
            .map(|(_, comparison)| *comparison)
    }

    /// Returns the plan that uses this index, or `None` if the index does not yield the requested order.
    fn plan_with<'c>(
        &self,
        collection: &'c Collection,
        index: Option<&'c Index>,
    ) -> Result<Option<Plan<'c>>, FindError> {
        let Some(sort) = &self.sort else { return Ok(None) };
        let mut fields = index.map_or_else(Vec::new, |index| index.fields.clone());
        if !fields.contains(&IndexField::Id) {
            fields.push(IndexField::Id);
        }
        let mut plan =
            Plan { collection, index, order: Vec::new(), descending: self.descending, merged: None, narrowed: 0 };
        let mut rest = fields.into_iter().peekable();
        while let Some(field) = rest.peek().copied() {
            let is_fixed = self.comparison(field, |comparison| matches!(comparison, Comparison::Equal(_))).is_some();
            if !is_fixed && !self.merge(&mut plan, sort, field)? {
                break;
            }
            plan.narrowed += 2;
            rest.next();
        }
        if rest.peek().is_some_and(|field| self.comparison(*field, narrows).is_some()) {
            plan.narrowed += 1;
        }
        plan.order = rest.collect();
        if !plan.order.starts_with(sort) {
            return Ok(None);
        }
        if !plan.order.contains(&IndexField::Id) {
            plan.order.push(IndexField::Id);
        }
        Ok(Some(plan))
    }

    /// Sets `plan.merged` if the field has a `one-of` with few values and is not a sort field. The values are then
    /// looked up one by one.
    ///
    /// Returns true if it was set. At most one field is merged.
    fn merge(&self, plan: &mut Plan<'_>, sort: &[IndexField], field: IndexField) -> Result<bool, FindError> {
        if plan.merged.is_some() || sort.contains(&field) {
            return Ok(false);
        }
        let few = |comparison: &Comparison| matches!(comparison, Comparison::OneOf(values) if (1..=ONE_OF_MERGED_MAX).contains(&values.len()));
        let Some(Comparison::OneOf(values)) = self.comparison(field, few) else { return Ok(false) };
        let mut distinct: Vec<Field> = Vec::new();
        for value in values {
            let value = field_of(value)?;
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        plan.merged = Some((field, distinct));
        Ok(true)
    }
}

fn narrows(comparison: &Comparison) -> bool {
    !matches!(comparison, Comparison::NotEqual(_) | Comparison::Contains(_))
}

/// Returns an error message that names the index to declare.
fn suggest_index(collection: &Collection, conditions: &[Condition], sort: &[Sort]) -> String {
    let is_sorted = |field: &str| sort.iter().any(|sort| sort.field == field);
    let is_equal = |condition: &&Condition| matches!(condition.comparison, Comparison::Equal(_));
    let narrowing = conditions
        .iter()
        .find(is_equal)
        .or_else(|| conditions.iter().find(|condition| narrows(&condition.comparison)))
        .map(|condition| condition.field.as_str())
        .filter(|field| !is_sorted(field));
    let fields: Vec<&str> = narrowing.into_iter().chain(sort.iter().map(|sort| sort.field.as_str())).collect();
    let name = &collection.name;
    if fields.is_empty() {
        return format!("find in {name}: no index can serve a not-equal or contains alone; add a condition or a sort");
    }
    format!("find in {name}: no index serves this sort and these conditions; declare one with the fields {fields:?}")
}
