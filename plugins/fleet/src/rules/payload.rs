//! Payloads: where an order goes, what it carries, and what is paid at the door (research/fleet 1.1.2, 1.5).

use super::change::{Change, Faults, TextField};
use super::invalid::Invalid;
use super::order::{Stops, check_stops};

const TYPE: TextField = ("type", 64);
const METHOD_CHARS_MAX: usize = 64;
pub const DEFAULT_TYPE: &str = "transport";
/// Of one payload.
pub const ENTITIES_MAX: usize = 50;

/// A payload as far as it is no places and no entities; those are judged by their own rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    pub kind: String,
    pub cod: Option<Cod>,
    pub cod_payment_method: Option<String>,
    pub payment_method: Option<String>,
}

/// Cash on delivery: shown to whoever collects it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cod {
    /// As it was written.
    pub amount: String,
    /// Three letters, upper case.
    pub currency: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    pub kind: Change<String>,
    pub cod_amount: Change<String>,
    pub cod_currency: Change<String>,
    pub cod_payment_method: Change<String>,
    pub payment_method: Change<String>,
}

/// A payload by itself says its type; that of an order has the order's.
#[derive(Clone, Debug, PartialEq)]
pub enum Comes {
    Alone,
    WithOrder { order_type: String },
}

/// What was asked for, on top of the payload before where there is one. `stops` and `entities`: as they will be.
pub fn settle(
    before: Option<Payload>,
    asked: Asked,
    comes: Comes,
    stops: Stops,
    entities: usize,
) -> Result<Payload, Vec<Invalid>> {
    let default_type = match comes {
        Comes::Alone => None,
        Comes::WithOrder { order_type } => Some(order_type),
    };
    let mut faults = Faults::default();
    faults.keep(check_stops(stops));
    faults.keep(check_entities(entities));
    let (kind, cod, cod_method, method) = match before {
        Some(before) => (Some(before.kind), before.cod, before.cod_payment_method, before.payment_method),
        None => (default_type, None, None, None),
    };
    let payload = Payload {
        kind: faults.required(TYPE, asked.kind, kind),
        cod: settle_cod(cod, asked.cod_amount, asked.cod_currency, &mut faults),
        cod_payment_method: faults.line(("cod_payment_method", METHOD_CHARS_MAX), asked.cod_payment_method, cod_method),
        payment_method: faults.line(("payment_method", METHOD_CHARS_MAX), asked.payment_method, method),
    };
    faults.finish(payload)
}

/// Asked before they are read, so that a long list costs nothing.
pub fn check_entities(count: usize) -> Result<(), Invalid> {
    if count > ENTITIES_MAX {
        return Err(Invalid::Not { field: "entities", kind: "a list of at most 50 entities" });
    }
    Ok(())
}

/// An amount is in some currency; without an amount there is none.
fn settle_cod(
    before: Option<Cod>,
    amount: Change<String>,
    currency: Change<String>,
    faults: &mut Faults,
) -> Option<Cod> {
    let (amount_before, currency_before) = before.map(|cod| (cod.amount, cod.currency)).unzip();
    let names_currency = matches!(currency, Change::To(_));
    let amount = faults.amount("cod_amount", amount.over(amount_before));
    let currency = faults.currency("cod_currency", currency.over(currency_before));
    match (amount, currency) {
        (Some(amount), Some(currency)) => Some(Cod { amount, currency }),
        (Some(_), None) => {
            faults.note(Invalid::RequiredWith { field: "cod_currency", with: "cod_amount" });
            None
        }
        (None, Some(_)) if names_currency => {
            faults.note(Invalid::RequiredWith { field: "cod_amount", with: "cod_currency" });
            None
        }
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THERE: Stops = Stops { pickup: true, dropoff: true, waypoints: 0 };

    fn to(text: &str) -> Change<String> {
        Change::To(text.to_owned())
    }

    fn alone(before: Option<Payload>, asked: Asked) -> Result<Payload, Vec<Invalid>> {
        settle(before, asked, Comes::Alone, THERE, 0)
    }

    #[test]
    fn a_payload_has_a_type_and_goes_somewhere() {
        assert_eq!(alone(None, Asked { kind: to("food"), ..Asked::default() }).unwrap().kind, "food");
        assert_eq!(alone(None, Asked::default()).unwrap_err(), [Invalid::Required("type")]);
        let comes = Comes::WithOrder { order_type: DEFAULT_TYPE.to_owned() };
        assert_eq!(settle(None, Asked::default(), comes.clone(), THERE, 0).unwrap().kind, "transport");
        let nowhere = settle(None, Asked::default(), comes, Stops::default(), ENTITIES_MAX + 1).unwrap_err();
        assert_eq!(nowhere[0], Invalid::NoStops);
        assert_eq!(nowhere.len(), 2);
    }

    #[test]
    fn what_is_paid_at_the_door_is_in_some_currency() {
        let paid = Asked { kind: to("food"), cod_amount: to("12.50"), cod_currency: to("sgd"), ..Asked::default() };
        let before = alone(None, paid.clone()).unwrap();
        assert_eq!(before.cod, Some(Cod { amount: "12.50".to_owned(), currency: "SGD".to_owned() }));
        let more = alone(Some(before.clone()), Asked { cod_amount: to("13"), ..Asked::default() }).unwrap();
        assert_eq!(more.cod, Some(Cod { amount: "13".to_owned(), currency: "SGD".to_owned() }));
        let free = alone(Some(before), Asked { cod_amount: Change::Cleared, ..Asked::default() }).unwrap();
        assert_eq!(free.cod, None);
        let vague = alone(None, Asked { cod_currency: Change::Absent, ..paid }).unwrap_err();
        assert_eq!(vague, [Invalid::RequiredWith { field: "cod_currency", with: "cod_amount" }]);
        let euros = Asked { cod_currency: to("eur"), ..Asked::default() };
        assert_eq!(alone(Some(more), euros.clone()).unwrap().cod.map(|cod| cod.currency).as_deref(), Some("EUR"));
        let nothing = alone(Some(free), euros).unwrap_err();
        assert_eq!(nothing, [Invalid::RequiredWith { field: "cod_amount", with: "cod_currency" }]);
    }

    #[test]
    fn what_is_absent_stays() {
        let asked = Asked { kind: to("food"), payment_method: to("card"), ..Asked::default() };
        let before = alone(None, asked).unwrap();
        assert_eq!(alone(Some(before.clone()), Asked::default()), Ok(before));
    }
}
