//! The stored text of an order, member by member (research/fleet 1.1.2, as far as this version carries it).

use serde::Serialize;
use serde_json::value::RawValue;
use tenon_plugin::{Call, Stop, json, time};

use super::NewOrder;
use crate::records::shapes::{Point, raw};
use crate::rules::order::Status;
use crate::rules::place::Place;

#[derive(Serialize)]
pub struct PlaceText {
    id: String,
    name: Option<String>,
    location: Point,
    address: Option<String>,
    street1: Option<String>,
    street2: Option<String>,
    city: Option<String>,
    province: Option<String>,
    postal_code: Option<String>,
    neighborhood: Option<String>,
    district: Option<String>,
    building: Option<String>,
    security_access_code: Option<String>,
    country: Option<String>,
    phone: Option<String>,
    #[serde(rename = "type")]
    kind: Option<&'static str>,
    /// The position in a tour; of a waypoint only.
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<usize>,
    updated_at: String,
    created_at: String,
}

impl PlaceText {
    pub fn new(call: &Call, place: &Place) -> PlaceText {
        let now = time::to_text(call.now());
        let detail = |name: &str| place.detail(name).map(str::to_owned);
        PlaceText {
            id: call.public_id("place"),
            name: detail("name"),
            location: Point::of(place.position),
            address: place.address(),
            street1: detail("street1"),
            street2: detail("street2"),
            city: detail("city"),
            province: detail("province"),
            postal_code: detail("postal_code"),
            neighborhood: detail("neighborhood"),
            district: detail("district"),
            building: detail("building"),
            security_access_code: detail("security_access_code"),
            country: detail("country"),
            phone: detail("phone"),
            kind: None,
            order: None,
            updated_at: now.clone(),
            created_at: now,
        }
    }
}

pub fn waypoint_texts(call: &Call, places: &[Place]) -> Vec<PlaceText> {
    let numbered = places.iter().enumerate();
    numbered.map(|(position, place)| PlaceText { order: Some(position), ..PlaceText::new(call, place) }).collect()
}

#[derive(Serialize)]
struct PayloadText<'a> {
    id: String,
    current_waypoint: Option<&'a str>,
    pickup: Option<PlaceText>,
    dropoff: Option<PlaceText>,
    #[serde(rename = "return")]
    return_to: Option<PlaceText>,
    waypoints: Vec<PlaceText>,
    entities: [(); 0],
    cod_amount: Option<()>,
    cod_currency: Option<()>,
    cod_payment_method: Option<()>,
    payment_method: Option<()>,
    updated_at: &'a str,
    created_at: &'a str,
}

#[derive(Serialize)]
struct TrackingNumberText<'a> {
    id: &'a str,
    tracking_number: &'a str,
    subject: &'a str,
    status: &'a str,
    status_code: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    updated_at: &'a str,
    created_at: &'a str,
}

#[derive(Serialize)]
struct TrackingStatusText<'a> {
    id: String,
    status: &'a str,
    details: &'a str,
    code: &'a str,
    complete: bool,
    tracking_number: &'a str,
    updated_at: &'a str,
    created_at: &'a str,
}

#[derive(Serialize)]
struct OrderText<'a> {
    id: &'a str,
    internal_id: Option<&'a str>,
    customer: Option<Box<RawValue>>,
    payload: PayloadText<'a>,
    facilitator: Option<()>,
    driver_assigned: Option<()>,
    vehicle_assigned: Option<()>,
    tracking_number: TrackingNumberText<'a>,
    tracking_statuses: [TrackingStatusText<'a>; 1],
    files: [(); 0],
    purchase_rate: Option<()>,
    notes: Option<&'a str>,
    #[serde(rename = "type")]
    order_type: &'a str,
    status: &'a str,
    pod_method: Option<&'a str>,
    pod_required: bool,
    dispatched: bool,
    started: bool,
    adhoc: bool,
    adhoc_distance: Option<()>,
    distance: Option<()>,
    time: Option<()>,
    transaction_amount: Option<()>,
    currency: Option<()>,
    meta: Box<RawValue>,
    dispatched_at: Option<()>,
    started_at: Option<()>,
    scheduled_at: Option<String>,
    updated_at: &'a str,
    created_at: &'a str,
}

pub(super) fn order_text(call: &Call, id: &str, number: &str, order: &NewOrder) -> Result<String, Stop> {
    let (now, number_id, status) = (time::to_text(call.now()), call.public_id("track"), Status::Created);
    json::to_text(&OrderText {
        id,
        internal_id: order.internal_id.as_deref(),
        customer: order.customer.as_deref().map(raw).transpose()?,
        payload: payload(call, order, &now),
        facilitator: None,
        driver_assigned: None,
        vehicle_assigned: None,
        tracking_number: TrackingNumberText {
            id: &number_id,
            tracking_number: number,
            subject: id,
            status: status.title(),
            status_code: status.code(),
            kind: "order",
            updated_at: &now,
            created_at: &now,
        },
        tracking_statuses: [TrackingStatusText {
            id: call.public_id("status"),
            status: status.title(),
            details: "New order created.",
            code: status.code(),
            complete: false,
            tracking_number: number,
            updated_at: &now,
            created_at: &now,
        }],
        files: [],
        purchase_rate: None,
        notes: order.notes.as_deref(),
        order_type: &order.order_type,
        status: status.name(),
        pod_method: order.pod_method.map(|method| method.name()),
        pod_required: order.pod_required,
        dispatched: false,
        started: false,
        adhoc: false,
        adhoc_distance: None,
        distance: None,
        time: None,
        transaction_amount: None,
        currency: None,
        meta: raw(order.meta.as_deref().unwrap_or("{}"))?,
        dispatched_at: None,
        started_at: None,
        scheduled_at: order.scheduled_at.map(time::to_text),
        updated_at: &now,
        created_at: &now,
    })
}

fn payload<'a>(call: &Call, order: &NewOrder, now: &'a str) -> PayloadText<'a> {
    let place = |place: &Option<Place>| place.as_ref().map(|place| PlaceText::new(call, place));
    PayloadText {
        id: call.public_id("payload"),
        current_waypoint: None,
        pickup: place(&order.route.pickup),
        dropoff: place(&order.route.dropoff),
        return_to: place(&order.route.return_to),
        waypoints: waypoint_texts(call, &order.route.waypoints),
        entities: [],
        cod_amount: None,
        cod_currency: None,
        cod_payment_method: None,
        payment_method: None,
        updated_at: now,
        created_at: now,
    }
}
