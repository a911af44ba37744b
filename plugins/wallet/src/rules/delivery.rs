//! Which movement of a blockchain's transaction belongs to which order, where a provider names one transaction for several.
//!
//! Invariants: a movement is one order's; what an order has taken stays its own; who looks later sees the same.

use std::collections::BTreeMap;

use super::amount::Units;

/// To one balance of ours, in one asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    pub position: u32,
    pub units: Units,
    /// It is in the books as a deposit, and stays one.
    pub is_credited: bool,
}

/// An order that names the transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Naming {
    pub order: String,
    /// How much, as the provider says.
    pub said: Option<Units>,
    /// It takes nothing else: what comes instead is a deposit, so that it is not lost.
    pub is_exact: bool,
    /// The position that it was booked with.
    pub took: Option<u32>,
}

/// Positions by order. An order gets what its provider says; only where one order and one movement are left over, that one
/// whatever it says, if the order takes that. What has been credited is given last.
pub fn assign(movements: &[Movement], orders: &[Naming]) -> BTreeMap<String, u32> {
    let mut given: BTreeMap<String, u32> =
        orders.iter().filter_map(|order| Some((order.order.clone(), order.took?))).collect();
    let mut free: Vec<&Movement> = movements.iter().filter(|it| !given.values().any(|at| *at == it.position)).collect();
    let mut open: Vec<&Naming> = orders.iter().filter(|order| order.took.is_none()).collect();
    free.sort_by_key(|movement| (movement.is_credited, movement.position));
    open.sort_by(|one, other| one.order.cmp(&other.order));
    open.retain(|order| {
        let fitting = free.iter().position(|movement| order.said == Some(movement.units));
        let taken = fitting.map(|at| free.remove(at));
        given.extend(taken.map(|movement| (order.order.clone(), movement.position)));
        taken.is_none()
    });
    let is_new = free.iter().any(|movement| !movement.is_credited);
    free.retain(|movement| !is_new || !movement.is_credited);
    open.retain(|order| !order.is_exact);
    if let ([order], [movement]) = (open.as_slice(), free.as_slice()) {
        given.insert(order.order.clone(), movement.position);
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Movements as "20 30c" (the second is credited), orders as "a20 b? c7@1 d8!" (the third took position 1, the last takes nothing
    /// else).
    fn check(movements: &str, orders: &str, expected: &str) {
        let movement = |(at, text): (usize, &str)| Movement {
            position: u32::try_from(at).unwrap(),
            units: Units::of_base(text.trim_end_matches('c')).unwrap(),
            is_credited: text.ends_with('c'),
        };
        let naming = |text: &str| {
            let (said, took) = text[1..].split_once('@').unwrap_or((&text[1..], ""));
            let (said, is_exact) = said.strip_suffix('!').map_or((said, false), |said| (said, true));
            Naming { order: text[..1].to_owned(), said: Units::of_base(said), is_exact, took: took.parse().ok() }
        };
        let movements: Vec<Movement> = movements.split_whitespace().enumerate().map(movement).collect();
        let orders: Vec<Naming> = orders.split_whitespace().map(naming).collect();
        let assigned: Vec<String> =
            assign(&movements, &orders).iter().map(|(order, at)| format!("{order}{at}")).collect();
        assert_eq!(assigned.join(" "), expected, "{movements:?} {orders:?}");
    }

    #[test]
    fn an_order_gets_the_movement_that_its_provider_says() {
        check("20 30", "a30", "a1");
        check("20 30", "a30 b20", "a1 b0");
        check("20 20", "a20 b20", "a0 b1");
        check("20", "a20 b20", "a0");
    }

    #[test]
    fn the_only_one_left_over_is_it_whatever_was_said() {
        check("19", "a20", "a0");
        check("19", "a?", "a0");
        check("20 19", "a20 b?", "a0 b1");
        check("20 30", "a?", "");
        check("19", "a20 b20", "");
        check("19", "a20!", "");
        check("20", "a20!", "a0");
        check("19", "a20! b20", "b0");
    }

    #[test]
    fn what_was_taken_is_given_to_nobody_else() {
        check("20", "a20@0 b20", "a0");
        check("20 20", "a20 b20@0", "a1 b0");
    }

    #[test]
    fn what_is_credited_already_is_given_last() {
        check("20c 20", "a20", "a1");
        check("20c", "a20", "a0");
        check("20c 30", "a?", "a1");
        check("20c 20c", "a?", "");
    }
}
