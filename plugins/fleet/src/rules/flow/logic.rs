//! Conditions over the fields of an order: whether an activity is possible at all (research/fleet 3: logic).

use std::cmp::Ordering;

use super::Fields;

/// Of one logic, and logics of one activity.
pub const CONDITIONS_MAX: usize = 16;
/// Characters of a field's path, and of a value.
const TEXT_CHARS_MAX: usize = 200;

/// How conditions are joined. `If` asks for all of them, as `And` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    And,
    Or,
    /// None of them.
    Not,
    If,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Logic {
    pub join: Join,
    /// Invariant of a checked one: not empty.
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// A path: "type", "meta.fragile".
    pub field: String,
    pub operator: Operator,
    /// Not read by `exists` and `not_exists`.
    pub value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Equal,
    NotEqual,
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
    Contains,
    BeginsWith,
    EndsWith,
    Exists,
    NotExists,
}

impl Join {
    pub const ALL: [Join; 4] = [Join::And, Join::Or, Join::Not, Join::If];

    pub fn name(self) -> &'static str {
        match self {
            Join::And => "and",
            Join::Or => "or",
            Join::Not => "not",
            Join::If => "if",
        }
    }

    pub fn of_name(name: &str) -> Option<Join> {
        Join::ALL.into_iter().find(|join| join.name() == name)
    }
}

impl Operator {
    pub const ALL: [Operator; 11] = [
        Operator::Equal,
        Operator::NotEqual,
        Operator::GreaterThan,
        Operator::GreaterThanOrEqual,
        Operator::LessThan,
        Operator::LessThanOrEqual,
        Operator::Contains,
        Operator::BeginsWith,
        Operator::EndsWith,
        Operator::Exists,
        Operator::NotExists,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Operator::Equal => "equal",
            Operator::NotEqual => "not_equal",
            Operator::GreaterThan => "greater_than",
            Operator::GreaterThanOrEqual => "greater_than_or_equal",
            Operator::LessThan => "less_than",
            Operator::LessThanOrEqual => "less_than_or_equal",
            Operator::Contains => "contains",
            Operator::BeginsWith => "begins_with",
            Operator::EndsWith => "ends_with",
            Operator::Exists => "exists",
            Operator::NotExists => "not_exists",
        }
    }

    pub fn of_name(name: &str) -> Option<Operator> {
        Operator::ALL.into_iter().find(|operator| operator.name() == name)
    }
}

impl Logic {
    pub fn holds(&self, fields: &Fields<'_>) -> bool {
        let mut conditions = self.conditions.iter();
        match self.join {
            Join::And | Join::If => conditions.all(|condition| condition.holds(fields)),
            Join::Or => conditions.any(|condition| condition.holds(fields)),
            Join::Not => !conditions.any(|condition| condition.holds(fields)),
        }
    }

    /// `Err` with the end of a sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.conditions.is_empty() || self.conditions.len() > CONDITIONS_MAX {
            return Err(format!("there are not 1 to {CONDITIONS_MAX} conditions"));
        }
        let is_long = |text: &str| text.chars().nth(TEXT_CHARS_MAX).is_some();
        let is_wrong = |condition: &Condition| {
            condition.field.is_empty() || is_long(&condition.field) || is_long(&condition.value)
        };
        if self.conditions.iter().any(is_wrong) {
            return Err(format!("a condition has no field, or a text of more than {TEXT_CHARS_MAX} characters"));
        }
        Ok(())
    }
}

impl Condition {
    /// A field that is absent equals nothing and is neither greater nor less.
    fn holds(&self, fields: &Fields<'_>) -> bool {
        let found = fields(&self.field);
        let Some(found) = found.as_deref() else {
            return matches!(self.operator, Operator::NotEqual | Operator::NotExists);
        };
        let order = compare(found, &self.value);
        match self.operator {
            Operator::Equal => order == Ordering::Equal,
            Operator::NotEqual => order != Ordering::Equal,
            Operator::GreaterThan => order == Ordering::Greater,
            Operator::GreaterThanOrEqual => order != Ordering::Less,
            Operator::LessThan => order == Ordering::Less,
            Operator::LessThanOrEqual => order != Ordering::Greater,
            Operator::Contains => found.contains(&self.value),
            Operator::BeginsWith => found.starts_with(&self.value),
            Operator::EndsWith => found.ends_with(&self.value),
            Operator::Exists => true,
            Operator::NotExists => false,
        }
    }
}

/// Two numbers as numbers, so that 10 is more than 9.5; anything else as texts.
fn compare(left: &str, right: &str) -> Ordering {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    match (number(left), number(right)) {
        (Some(left), Some(right)) => left.total_cmp(&right),
        _ => left.cmp(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(operator: &str, field: &str, value: &str, expected: bool) {
        let operator = Operator::of_name(operator).unwrap();
        let condition = Condition { field: field.to_owned(), operator, value: value.to_owned() };
        assert_eq!(condition.holds(&order), expected, "{condition:?}");
    }

    fn order(field: &str) -> Option<String> {
        match field {
            "type" => Some("transport".to_owned()),
            "meta.weight" => Some("10".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn fields_are_compared_as_what_they_are() {
        check("equal", "type", "transport", true);
        check("not_equal", "type", "transport", false);
        check("greater_than", "meta.weight", "9.5", true);
        check("less_than", "meta.weight", "9.5", false);
        check("equal", "meta.weight", "10.0", true);
        check("greater_than_or_equal", "meta.weight", "10", true);
        check("less_than_or_equal", "meta.weight", "9", false);
        check("greater_than", "type", "9", true);
    }

    #[test]
    fn texts_are_looked_into() {
        check("contains", "type", "spor", true);
        check("begins_with", "type", "trans", true);
        check("ends_with", "type", "trans", false);
    }

    #[test]
    fn an_absent_field_is_neither_more_nor_less() {
        for operator in Operator::ALL {
            let holds = matches!(operator, Operator::NotEqual | Operator::NotExists);
            check(operator.name(), "meta.fragile", "1", holds);
        }
        check("exists", "type", "", true);
        check("not_exists", "type", "", false);
    }

    #[test]
    fn conditions_are_joined() {
        let is = |value: &str| Condition { field: "type".into(), operator: Operator::Equal, value: value.into() };
        let holds = |join: &str, values: &[&str]| {
            let join = Join::of_name(join).unwrap();
            Logic { join, conditions: values.iter().map(|value| is(value)).collect() }.holds(&order)
        };
        assert!(holds("and", &["transport"]) && !holds("and", &["transport", "haulage"]));
        assert!(holds("or", &["haulage", "transport"]) && !holds("or", &["haulage"]));
        assert!(holds("not", &["haulage"]) && !holds("not", &["haulage", "transport"]));
        assert!(holds("if", &["transport"]) && !holds("if", &["haulage"]));
    }

    #[test]
    fn a_logic_says_something_and_not_too_much() {
        let condition = Condition { field: "type".into(), operator: Operator::Exists, value: String::new() };
        let logic = |conditions: Vec<Condition>| Logic { join: Join::And, conditions }.check();
        assert!(logic(vec![condition.clone(); CONDITIONS_MAX]).is_ok());
        assert!(logic(Vec::new()).is_err() && logic(vec![condition.clone(); CONDITIONS_MAX + 1]).is_err());
        assert!(logic(vec![Condition { field: String::new(), ..condition.clone() }]).is_err());
        assert!(logic(vec![Condition { value: "x".repeat(201), ..condition }]).is_err());
    }
}
