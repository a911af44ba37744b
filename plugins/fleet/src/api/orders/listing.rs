//! The list of orders (research/fleet 5).

use tenon_plugin::{Call, Outcome};

use crate::api::lists::{self, Filter, Listing};
use crate::records::orders::COLLECTION;

const LISTING: Listing = Listing {
    collection: COLLECTION,
    filters: &[
        Filter::word("status", "status"),
        Filter::text("internal_id", "internal_id"),
        Filter::word("customer", "customer.id"),
        Filter::word("type", "type"),
    ],
    sorts: &[],
    own: &[],
};

pub fn list(call: &Call) -> Outcome {
    lists::list(call, &LISTING)
}
