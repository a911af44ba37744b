//! One order on its way through the rules: commands are asked of it, and what came of them is stored at the end, in the
//! same commit with everything that goes with it.
//!
//! The one place that carries out `progress::Effect`. Invariant: what was asked and refused leaves nothing behind.

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Stop, time};

use super::{fields, saying, standing, telling, tracking};
use crate::records::orders::{self, text};
use crate::records::payloads::{self, Payload};
use crate::records::{configurations, drivers, proofs};
use crate::rules::change::Change;
use crate::rules::flow::{CREATED, Flow};
use crate::rules::progress::{self, Command, Effect, Event, Progress, Rules, Step};
use crate::rules::refusal::Refusal;

pub struct Moving<'c> {
    pub call: &'c Call<'c>,
    pub id: String,
    pub order: Object<'static>,
    pub payload: Payload,
    pub flow: Flow,
    progress: Progress,
    effects: Vec<Effect>,
    /// Whatever vehicle the driver has.
    vehicle: Change<String>,
    /// Whether a change is told by itself, without an effect that says so.
    tells_changes: bool,
    /// Whether it could be dispatched as it was stored.
    was_ready: bool,
    /// As they were stored; empty: they were not.
    before: (String, String),
}

impl<'c> Moving<'c> {
    /// A stored order.
    pub fn load(call: &'c Call<'c>, entry: &Entry) -> Result<Moving<'c>, Stop> {
        let order: Object = json::from_text(&entry.body)?;
        let mut payload = payloads::load(call, &text(&order, "payload").unwrap_or_default())?;
        standing::point(&order, &mut payload)?;
        let flow = flow_of(call, &order)?;
        let mut moving = Moving::of(call, (entry.id.clone(), order.into_owned()), payload, flow);
        moving.before = (moving.order.to_text(), moving.payload.to_text()?);
        moving.was_ready = moving.is_ready();
        Ok(moving)
    }

    /// An order that is being made, dispatched at once where that was asked for.
    pub fn create(
        call: &'c Call<'c>,
        order: (String, Object<'static>),
        payload: Payload,
        flow: Flow,
        dispatched: bool,
    ) -> Result<Moving<'c>, Stop> {
        let mut moving = Moving::of(call, order, payload, flow);
        let step = {
            let fields = fields::of(call, &moving.order);
            let rules = Rules { flow: &moving.flow, fields: &fields };
            progress::create(moving.progress.clone(), dispatched.then_some(rules), call.now())?
        };
        (moving.progress, moving.effects) = (step.order, step.effects);
        // Its tracking number was issued with this status.
        moving.effects.retain(|effect| *effect != Effect::Track { stop: None, code: CREATED.to_owned() });
        Ok(moving)
    }

    /// Nothing was asked of it yet, and nothing is stored.
    fn of(call: &'c Call<'c>, (id, order): (String, Object<'static>), payload: Payload, flow: Flow) -> Moving<'c> {
        let progress = standing::read(&order, &payload, Vec::new());
        Moving {
            call,
            id,
            order,
            payload,
            flow,
            progress,
            effects: Vec::new(),
            vehicle: Change::Absent,
            tells_changes: false,
            was_ready: false,
            before: (String::new(), String::new()),
        }
    }

    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// From now on whatever has changed at the end is told.
    pub fn tell_changes(&mut self) {
        self.tells_changes = true;
    }

    /// What the order was told besides commands is read anew: its offer, the proof that it wants, its stops.
    pub fn refresh(&mut self) {
        let fresh = standing::read(&self.order, &self.payload, Vec::new());
        self.progress.adhoc = fresh.adhoc;
        self.progress.demand = fresh.demand;
        self.progress.stops = fresh.stops;
    }

    pub fn ask(&mut self, command: Command) -> Result<(), Stop> {
        if matches!(command, Command::Take(_) | Command::Complete | Command::SetStatus(_)) {
            self.progress.proofs = proofs::of_order(self.call, &self.id)?;
        }
        let fields = fields::of(self.call, &self.order);
        let rules = Rules { flow: &self.flow, fields: &fields };
        let Step { order, effects, .. } = progress::step(self.progress.clone(), command, rules, self.call.now())?;
        self.progress = order;
        self.effects.extend(effects);
        Ok(())
    }

    /// That it has not ended: what has, stays as it is.
    pub fn check_open(&self) -> Result<(), Stop> {
        self.progress.ending(&self.flow).map_or(Ok(()), |ending| Err(Refusal::Ended(ending).into()))
    }

    /// That nobody is on the way with it yet.
    pub fn check_not_started(&self) -> Result<(), Stop> {
        self.check_open()?;
        if self.progress.is_started() { Err(Refusal::AlreadyStarted.into()) } else { Ok(()) }
    }

    pub fn change_vehicle(&mut self, vehicle: Change<String>) -> Result<(), Stop> {
        let before = text(&self.order, "vehicle_assigned");
        if vehicle.clone().over(before.clone()) != before {
            self.check_open()?;
        }
        self.vehicle = vehicle;
        Ok(())
    }

    /// Stores what has changed and does what goes with it; nothing, where nothing has.
    pub fn finish(mut self) -> Result<Object<'static>, Stop> {
        self.progress.check_held(&self.flow)?;
        self.follow_driver()?;
        let vehicle = std::mem::take(&mut self.vehicle).over(text(&self.order, "vehicle_assigned"));
        self.order.set("vehicle_assigned", &vehicle)?;
        standing::write(&self.progress, &self.flow, &mut self.order, &mut self.payload)?;
        let now = time::to_text(self.call.now());
        let payload_changed = self.payload.to_text()? != self.before.1;
        if payload_changed {
            self.payload.body.set("updated_at", &now)?;
            payloads::store(self.call, &self.payload)?;
        }
        let order_changed = self.order.to_text() != self.before.0;
        if order_changed || payload_changed || !self.effects.is_empty() {
            self.order.set("updated_at", &now)?;
            orders::store(self.call, &self.id, &self.order)?;
        }
        let is_changed = order_changed || payload_changed;
        for effect in self.effects_once(is_changed) {
            self.carry_out(effect)?;
        }
        if is_changed {
            saying::keep(self.call, (&self.id, &mut self.order), &self.payload)?;
        }
        Ok(self.order)
    }

    /// That it was changed is told once, and at the end; that it can be dispatched now, before.
    fn effects_once(&mut self, is_changed: bool) -> Vec<Effect> {
        let updated = Effect::Emit(Event::OrderUpdated);
        let mut effects = std::mem::take(&mut self.effects);
        let is_told = effects.contains(&updated) || self.tells_changes && is_changed;
        effects.retain(|effect| *effect != updated);
        effects.extend((self.is_ready() && !self.was_ready).then_some(Effect::Emit(Event::OrderReady)));
        effects.extend(is_told.then_some(updated));
        effects
    }

    fn is_ready(&self) -> bool {
        let fields = fields::of(self.call, &self.order);
        progress::is_ready(&self.progress, Rules { flow: &self.flow, fields: &fields })
    }

    /// Another driver comes with his own vehicle; nobody leaves none.
    fn follow_driver(&mut self) -> Result<(), Stop> {
        if text(&self.order, "driver_assigned") == self.progress.driver {
            return Ok(());
        }
        let vehicle = match &self.progress.driver {
            Some(driver) => {
                let entry = drivers::load(self.call, driver)?;
                text(&json::from_text(&entry.body)?, "vehicle")
            }
            None => None,
        };
        self.order.set("vehicle_assigned", &vehicle)
    }

    fn carry_out(&self, effect: Effect) -> Result<(), Stop> {
        match effect {
            Effect::Track { stop, code } => tracking::report(self, stop.as_deref(), &code),
            Effect::Emit(event) => telling::tell(self, &event),
            Effect::PingDrivers => telling::ping_drivers(self),
            Effect::TakeJob { driver } => drivers::take_job(self.call, &driver, &self.id),
            Effect::FreeDriver { driver } => drivers::free(self.call, &driver, &self.id),
        }
    }
}

/// Of its configuration; the built-in one needs no look.
pub fn flow_of(call: &Call, order: &Object) -> Result<Flow, Stop> {
    let id = text(order, "order_config");
    configurations::flow_of_order(call, id.as_deref().unwrap_or(configurations::TRANSPORT_ID))
}
