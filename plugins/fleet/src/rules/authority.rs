//! Who may do what (research/fleet 2, 11): an organization's key everything within it; a driver's token only what that
//! driver does.
//!
//! Always holds: what a driver may never do is forbidden whatever it is done to, so that nothing is learned from it;
//! what belongs to another driver is as if it did not exist.

use super::flow::STARTED;

/// Who asks. Of which organization, the host has seen to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor<'a> {
    Organization,
    /// By the token that a login gave him.
    Driver(&'a str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    ReadDriver,
    Track,
    ToggleOnline,
    RegisterDevice,
    ChangePassword,
    /// organizations, current-organization, switch-organization
    UseOrganizations,
    /// To send some, and to list them: a driver's own list holds what he has sent.
    KeepFiles,
    /// To read, change and delete a file that belongs to no order.
    UseFile,
    /// A driver's own list holds what he may read.
    ListOrders,
    /// The order, what comes next, its tracker, proofs and comments.
    ReadOrder,
    /// By the action, or by an activity that [`of_activity`] says is one.
    StartOrder,
    /// Any other action on it, proofs and comments of his included.
    MoveOrder,
    /// Whatever only an organization does: to create, change, schedule and delete, to list and find drivers, and all
    /// the rest.
    Manage,
}

/// Of an activity that was posted: the one that starts an order is how it is accepted.
pub fn of_activity(code: &str) -> Operation {
    if code == STARTED { Operation::StartOrder } else { Operation::MoveOrder }
}

impl Operation {
    pub const ALL: [Operation; 13] = [
        Operation::ReadDriver,
        Operation::Track,
        Operation::ToggleOnline,
        Operation::RegisterDevice,
        Operation::ChangePassword,
        Operation::UseOrganizations,
        Operation::KeepFiles,
        Operation::UseFile,
        Operation::ListOrders,
        Operation::ReadOrder,
        Operation::StartOrder,
        Operation::MoveOrder,
        Operation::Manage,
    ];
}

/// What it is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    Driver(&'a str),
    Order(Held<'a>),
    /// By who has sent it; `None`: the organization.
    File(Option<&'a str>),
    /// Nothing in particular.
    Organization,
}

/// An order, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held<'a> {
    pub driver: Option<&'a str>,
    /// Once dispatched, to whoever comes first; who that was stays so until the order ends.
    pub offered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    /// 404, as for what does not exist.
    Hidden,
    /// 403.
    Forbidden,
}

pub fn may(actor: Actor<'_>, operation: Operation, subject: Subject<'_>) -> Verdict {
    let Actor::Driver(me) = actor else { return Verdict::Allowed };
    match (operation, subject) {
        (
            Operation::ReadDriver
            | Operation::Track
            | Operation::ToggleOnline
            | Operation::RegisterDevice
            | Operation::ChangePassword
            | Operation::UseOrganizations,
            Subject::Driver(driver),
        ) => seen(driver == me),
        (Operation::ReadOrder | Operation::StartOrder | Operation::MoveOrder, Subject::Order(order)) => {
            may_with_order(me, operation, order)
        }
        (Operation::UseFile, Subject::File(driver)) => seen(driver == Some(me)),
        (Operation::ListOrders | Operation::KeepFiles | Operation::UseOrganizations, Subject::Organization) => {
            Verdict::Allowed
        }
        _ => Verdict::Forbidden,
    }
}

fn may_with_order(me: &str, operation: Operation, order: Held<'_>) -> Verdict {
    match (order.driver, operation) {
        (Some(driver), _) if driver == me => Verdict::Allowed,
        // Who comes second learns that he does (409), and nothing else of the order.
        (Some(_), Operation::StartOrder) => seen(order.offered),
        (Some(_), _) => Verdict::Hidden,
        // Offered to whoever comes: he may look at it and accept it, and nothing else before he has.
        (None, Operation::MoveOrder) if order.offered => Verdict::Forbidden,
        (None, _) => seen(order.offered),
    }
}

fn seen(is_his: bool) -> Verdict {
    if is_his { Verdict::Allowed } else { Verdict::Hidden }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Allowed, Forbidden, Hidden};

    const ADA: Actor<'static> = Actor::Driver("ada");

    fn order(driver: Option<&'static str>, offered: bool) -> Subject<'static> {
        Subject::Order(Held { driver, offered })
    }

    #[test]
    fn an_organization_may_do_everything() {
        for operation in Operation::ALL {
            for subject in [Subject::Organization, Subject::Driver("ada"), order(Some("bob"), false)] {
                assert_eq!(may(Actor::Organization, operation, subject), Allowed);
            }
        }
    }

    #[test]
    fn a_driver_acts_for_himself() {
        let own = [
            Operation::ReadDriver,
            Operation::Track,
            Operation::ToggleOnline,
            Operation::RegisterDevice,
            Operation::ChangePassword,
            Operation::UseOrganizations,
        ];
        for operation in own {
            assert_eq!(may(ADA, operation, Subject::Driver("ada")), Allowed, "{operation:?}");
            assert_eq!(may(ADA, operation, Subject::Driver("bob")), Hidden, "{operation:?}");
        }
    }

    #[test]
    fn a_driver_acts_on_his_orders_and_on_those_that_are_offered() {
        let table = [
            (order(Some("ada"), false), [Allowed, Allowed, Allowed]),
            (order(Some("ada"), true), [Allowed, Allowed, Allowed]),
            (order(None, true), [Allowed, Allowed, Forbidden]),
            (order(None, false), [Hidden, Hidden, Hidden]),
            (order(Some("bob"), false), [Hidden, Hidden, Hidden]),
            (order(Some("bob"), true), [Hidden, Allowed, Hidden]),
        ];
        for (subject, expected) in table {
            let operations = [Operation::ReadOrder, Operation::StartOrder, Operation::MoveOrder];
            assert_eq!(operations.map(|operation| may(ADA, operation, subject)), expected, "{subject:?}");
        }
        assert_eq!(may(ADA, Operation::ListOrders, Subject::Organization), Allowed);
    }

    #[test]
    fn a_driver_uses_the_files_that_he_has_sent() {
        assert_eq!(may(ADA, Operation::KeepFiles, Subject::Organization), Allowed);
        for (sent_by, expected) in [(Some("ada"), Allowed), (Some("bob"), Hidden), (None, Hidden)] {
            assert_eq!(may(ADA, Operation::UseFile, Subject::File(sent_by)), expected, "{sent_by:?}");
        }
        assert_eq!(may(ADA, Operation::Manage, Subject::File(Some("ada"))), Forbidden);
    }

    #[test]
    fn an_offered_order_is_accepted_by_an_activity_too() {
        assert_eq!(may(ADA, of_activity("started"), order(None, true)), Allowed);
        assert_eq!(may(ADA, of_activity("enroute"), order(None, true)), Forbidden);
    }

    #[test]
    fn everything_else_is_forbidden_whatever_it_is_done_to() {
        for subject in [Subject::Organization, Subject::Driver("ada"), order(Some("ada"), true), order(None, false)] {
            assert_eq!(may(ADA, Operation::Manage, subject), Forbidden);
        }
        assert_eq!(may(ADA, Operation::Track, Subject::Organization), Forbidden);
        assert_eq!(may(ADA, Operation::MoveOrder, Subject::Driver("ada")), Forbidden);
    }
}
