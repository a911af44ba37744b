//! The rules of the interface: plain Rust, without SDK, JSON or clock. Time is an argument, in milliseconds since 1970.
//!
//! An order is moved by `progress` along its configuration (`flow`); `next` says what may come, `proof` what must be
//! shown, `authority` who may ask. A refusal has its status, code and sentence in `refusal`; what is wrong with a
//! field, in `invalid`.
//!
//! # Decisions
//!
//! What spec/fleet leaves open and research/fleet shows loose, or not at all:
//!
//! - Every configuration has `created`, `dispatched` and `started`, which every way to a completion passes once, in
//!   this order; activities of one's own stand anywhere between. `canceled` and `failed` follow everything that has not
//!   ended.
//! - Only the code of a posted activity counts. PUT `status` is an activity like any other, but moves no stop of a
//!   tour.
//! - A state says no with 400 and the sentence that clients know; another driver who was first with 409; a field that
//!   is wrong, a proof that is missing and a stop before the start with 422. What has ended says how it ended.
//! - `dispatch: true` at creation needs a driver or an ad-hoc order, and refuses the order otherwise: its answer is
//!   true.
//! - `skip_dispatch` skips `dispatched` and nothing else. An order is scheduled until it is started. An order that is
//!   under way is handed to another driver, never to nobody.
//! - An ad-hoc order is offered from its dispatch until it ends; before and after, no driver sees it but its own.
//! - `order.ready` is told when a dispatch would be accepted from now on, `order.dispatch_failed` when nobody hears of an
//!   offer, which stays; a dispatch that is refused is told to its caller alone (docs/fleet/event-types.md).
//! - Of an ad-hoc order, whoever comes second learns that he does (409), though the order is no longer his to see.
//! - On a tour (any waypoint) the order's own status stays `started` until its end. `failed` fails the current stop,
//!   and the tour goes on; it is completed unless every stop has failed. A stop that is done is no destination any
//!   more.
//! - A required proof is one of the order: named by the activity, or any that fits. A stop is proved by a proof of that
//!   stop.
//! - A scanned code is the id or the tracking number of its subject; our QR code and barcode (Code 128) hold the
//!   number.
//! - A tracking number says what its last status says, and keeps 25 of them: of an order's progress the oldest goes, a
//!   caller's is refused. The number that an order, a stop or an entity came with goes away with it and not before.
//! - A tracking number can be guessed, so there is no page for everybody under it: its `url` is null.
//! - Each photo is a proof of its own, and its picture a file that whoever may see the order may download. Files that come by
//!   themselves are pictures too: an organization sees all of them, a driver those that he sent.
//! - A picture is whole: its parts are walked through to the mark of its end, and nothing is decoded. Behind the end of a
//!   JPEG or GIF there may be more, as cameras write it.
//! - A late fix never becomes the position, of a driver as of a vehicle; one of the same time does. A device's clock may be a
//!   minute ahead; a week is too old. A driver's fix is his vehicle's too, unless the vehicle's own device was heard later.
//! - A driver drives one vehicle and a vehicle has one driver; whoever had either before has none, whichever side it was said
//!   on.
//! - Distances are straight lines times 1.3 at 35 km/h, and say so with a confidence of 0.6, or 0.3 where something is
//!   not known.
//! - An unknown identity is a wrong password. Of wrong passwords ten an hour are heard; whoever logs in is told no more
//!   than that it is wrong, whoever changes his own is told 429. Of wrong codes ten an hour are heard, however often a new one is sent; a
//!   code is sent every 30 seconds at most.
//! - A phone number has 1 to 15 digits, in any spelling, and its digits belong to one driver of an organization.
//! - A driver has at most 20 tokens, for a week each; another password ends all of them. A token opens
//!   one organization: he switches to one that the operator has linked, where he is known, by a token of that one.
//! - A driver with an order to carry out is not deleted (400). His other open orders, a hundred at most, are nobody's
//!   again; an ad-hoc one is in every driver's list, and nobody is pinged anew.
//! - A driver's token never manages: 403, whatever it names. What belongs to another driver does not exist for it: 404.
//! - What an order carries goes with the stop that it is for on a tour, and with the order otherwise; it stays with its
//!   order. Whoever follows a stop that is not done, or what goes there, hears that the order was canceled or has failed.
//!   An order takes payload, entities, numbers, proofs and comments with it when it is deleted.
//! - A list of entities is the whole list: those that it names by id are changed, the others are new, and what is not in it
//!   goes. What was to go to a stop that goes away goes with the order.
//! - What the geocoder said of an address goes with it when it becomes another; a position that a caller gave stays. One
//!   that is sent back as it was read, or is 0, 0, says nothing.
//! - A place that changes is another place for every order; what a list finds nearby is where the pickup was when the order
//!   was changed or measured last.
//! - A fix at 0, 0 is how a device says that it does not know: it moves neither driver nor vehicle.
//! - A time zone is an offset, or a name: its table is part of the plugin. Of a time that the clocks skip it is the one an
//!   hour later, of one that they show twice the first.
//! - `order.ping` has the driver as its subject; the nearest 50 hear of an order.
//! - Amounts of things and at the door are kept as they were written, never reckoned with.

pub mod authority;
pub mod change;
pub mod configuration;
pub mod contact;
pub mod driver;
pub mod entity;
pub mod file;
pub mod flow;
pub mod invalid;
pub mod location;
pub mod next;
pub mod order;
pub mod payload;
pub mod picture;
pub mod place;
pub mod progress;
pub mod proof;
pub mod refusal;
pub mod text;
pub mod tracker;
pub mod tracking;
pub mod vehicle;
pub mod waypoint;
pub mod webhook;
pub mod zone;
