//! What a command makes of an order: the new state, the edges that it took, and what else has to be done, as values.

use super::Progress;

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub order: Progress,
    /// From, to; `None`: it was not there before.
    pub moves: Vec<(Option<String>, String)>,
    /// In the order in which they are to be done. None, and no move: nothing had to be changed.
    pub effects: Vec<Effect>,
}

/// What has to be done besides storing the order, in the same commit.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A new tracking status: of the order, or of one of its stops and what goes there.
    Track {
        stop: Option<String>,
        code: String,
    },
    Emit(Event),
    /// Every driver who is online near the pickup hears of an ad-hoc order.
    PingDrivers,
    /// The order becomes the current job of this driver.
    TakeJob {
        driver: String,
    },
    /// It is so no more.
    FreeDriver {
        driver: String,
    },
}

/// By the names of research/fleet 6.3.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    OrderCreated,
    OrderReady,
    OrderUpdated,
    OrderDispatched,
    OrderStarted,
    OrderCompleted,
    OrderCanceled,
    OrderFailed,
    DriverAssigned,
    WaypointActivity { stop: String },
    WaypointCompleted { stop: String },
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::OrderCreated => "order.created",
            Event::OrderReady => "order.ready",
            Event::OrderUpdated => "order.updated",
            Event::OrderDispatched => "order.dispatched",
            Event::OrderStarted => "order.started",
            Event::OrderCompleted => "order.completed",
            Event::OrderCanceled => "order.canceled",
            Event::OrderFailed => "order.failed",
            Event::DriverAssigned => "order.driver_assigned",
            Event::WaypointActivity { .. } => "waypoint.activity",
            Event::WaypointCompleted { .. } => "waypoint.completed",
        }
    }
}

impl Step {
    pub(super) fn of(order: Progress) -> Step {
        Step { order, moves: Vec::new(), effects: Vec::new() }
    }

    /// Takes an edge; there is no other way to another status. Whether it is one, its caller has looked.
    pub(super) fn go(&mut self, next: &str) {
        let before = std::mem::replace(&mut self.order.status, next.to_owned());
        self.moves.push((Some(before), next.to_owned()));
        self.then(Effect::Track { stop: None, code: next.to_owned() });
    }

    pub(super) fn then(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(super) fn emit(&mut self, event: Event) {
        self.then(Effect::Emit(event));
    }

    /// Whoever is on the way with it is free again.
    pub(super) fn free_driver(&mut self) {
        if let Some(driver) = self.order.driver.clone().filter(|_| self.order.is_started()) {
            self.then(Effect::FreeDriver { driver });
        }
    }
}
