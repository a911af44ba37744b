//! Orders of the peer: created with their places, tracking number, first status and event in one transaction, and read
//! by id with one query. Places are separate rows, as in the plugin: a changed place changes in every order.

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::{Row, SqliteConnection};

use super::{ApiError, Native, insert_event, json_response, now_ms, now_text, random_suffix};

/// `base` contains the order's own members, without those that are separate rows.
pub(super) const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS orders (
    tenant TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, base TEXT NOT NULL, payload TEXT NOT NULL,
    pickup TEXT NOT NULL, dropoff TEXT NOT NULL, tracking_number TEXT NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (tenant, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS places (
    tenant TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (tenant, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tracking_numbers (
    tenant TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (tenant, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tracking_statuses (
    tenant TEXT NOT NULL, number TEXT NOT NULL, at INTEGER NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (tenant, number, at, id)) WITHOUT ROWID;
";

const READ: &str = "
SELECT o.base, o.payload, p.body, d.body, t.body,
    (SELECT group_concat(s.body) FROM tracking_statuses s WHERE s.tenant = o.tenant AND s.number = o.tracking_number)
FROM orders o
JOIN places p ON p.tenant = o.tenant AND p.id = o.pickup
JOIN places d ON d.tenant = o.tenant AND d.id = o.dropoff
JOIN tracking_numbers t ON t.tenant = o.tenant AND t.id = o.tracking_number
WHERE o.tenant = ? AND o.id = ?";

/// Base64 lengths of the images of a QR code and of a barcode.
const QR_CODE_BYTES: usize = 332;
const BARCODE_BYTES: usize = 188;

#[derive(Deserialize)]
pub(super) struct NewOrder {
    pickup: String,
    dropoff: String,
    notes: Option<String>,
}

pub(super) async fn create_order(
    State(native): State<Native>,
    headers: HeaderMap,
    Json(new): Json<NewOrder>,
) -> Result<Response, ApiError> {
    let tenant = native.authenticate(&headers)?;
    let (id, now) = (format!("order_{}", random_suffix("order")), now_text());
    let base = order_json(&id, new.notes.as_deref(), &now);
    let payload = payload_json(&now);
    let mut transaction = native.writer.begin_with("BEGIN IMMEDIATE").await?;
    let pickup = insert_place(&mut transaction, &tenant, &new.pickup, &now).await?;
    let dropoff = insert_place(&mut transaction, &tenant, &new.dropoff, &now).await?;
    let tracking_number = insert_tracking(&mut transaction, &tenant, &id, &now).await?;
    sqlx::query("INSERT INTO orders VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?)")
        .bind(&*tenant)
        .bind(&id)
        .bind(&base)
        .bind(&payload)
        .bind(&pickup)
        .bind(&dropoff)
        .bind(&tracking_number)
        .bind(now_ms())
        .bind(now_ms())
        .execute(&mut *transaction)
        .await?;
    let event = json!({ "order_id": id, "tracking_number": tracking_number, "customer_id": null });
    insert_event(&mut transaction, &tenant, "order.created", &id, &event).await?;
    let body = load(&mut *transaction, &tenant, &id).await?;
    transaction.commit().await?;
    Ok((StatusCode::CREATED, json_response(body)).into_response())
}

pub(super) async fn read_order(
    State(native): State<Native>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let tenant = native.authenticate(&headers)?;
    Ok(json_response(load(&native.readers, &tenant, &id).await?))
}

/// Returns the order as JSON. Stored JSON strings are concatenated, and no tree is built.
async fn load<'a>(database: impl sqlx::SqliteExecutor<'a>, tenant: &str, id: &str) -> Result<String, ApiError> {
    let row = sqlx::query(READ).bind(tenant).bind(id).fetch_optional(database).await?.ok_or(ApiError::NotFound)?;
    let text = |column: usize| row.try_get::<&str, _>(column);
    let (base, payload, pickup, dropoff, number, statuses) =
        (text(0)?, text(1)?, text(2)?, text(3)?, text(4)?, text(5)?);
    let (base, payload) = (base.trim_end_matches('}'), payload.trim_end_matches('}'));
    Ok([
        base,
        r#","payload":"#,
        payload,
        r#","pickup":"#,
        pickup,
        r#","dropoff":"#,
        dropoff,
        r#"},"tracking_number":"#,
        number,
        r#","tracking_statuses":["#,
        statuses,
        "]}",
    ]
    .concat())
}

/// Returns the JSON of an order. Its last member ends without a brace, because [`load`] trims all closing braces.
fn order_json(id: &str, notes: Option<&str>, now: &str) -> String {
    json!({
        "id": id, "internal_id": null, "order_config": "order_config_transport0", "customer": null, "facilitator": null,
        "driver_assigned": null, "vehicle_assigned": null, "files": [], "purchase_rate": null, "notes": notes,
        "type": "transport", "status": "created", "pod_method": null, "pod_required": false, "dispatched": false,
        "started": false, "adhoc": false, "adhoc_distance": null, "distance": null, "time": null,
        "transaction_amount": null, "currency": null, "meta": {}, "dispatched_at": null, "started_at": null,
        "scheduled_at": null, "created_at": now, "updated_at": now,
    })
    .to_string()
}

fn payload_json(now: &str) -> String {
    json!({
        "id": format!("payload_{}", random_suffix("payload")), "current_waypoint": null, "return": null, "waypoints": [],
        "entities": [], "cod_amount": null, "cod_currency": null, "cod_payment_method": null, "payment_method": null,
        "meta": {}, "created_at": now, "updated_at": now,
    })
    .to_string()
}

async fn insert_place(
    transaction: &mut SqliteConnection,
    tenant: &str,
    address: &str,
    now: &str,
) -> Result<String, ApiError> {
    let id = format!("place_{}", random_suffix("place"));
    let body: Value = json!({
        "id": id, "name": null, "location": { "type": "Point", "coordinates": [0, 0] }, "address": address,
        "avatar_url": null, "street1": address, "street2": null, "city": null, "province": null, "postal_code": null,
        "neighborhood": null, "district": null, "building": null, "security_access_code": null, "country": null,
        "phone": null, "owner": null, "type": null, "meta": {}, "created_at": now, "updated_at": now,
    });
    sqlx::query("INSERT INTO places VALUES (?, ?, ?)")
        .bind(tenant)
        .bind(&id)
        .bind(body.to_string())
        .execute(transaction)
        .await?;
    Ok(id)
}

/// Inserts the tracking number with its images, and the first status.
async fn insert_tracking(
    transaction: &mut SqliteConnection,
    tenant: &str,
    order: &str,
    now: &str,
) -> Result<String, ApiError> {
    let (id, number) = (format!("track_{}", random_suffix("track")), random_suffix("number").to_uppercase());
    let body = json!({
        "id": id, "tracking_number": number, "subject": order, "region": "SG", "status": "Order Created",
        "status_code": "CREATED", "qr_code": "A".repeat(QR_CODE_BYTES), "barcode": "A".repeat(BARCODE_BYTES),
        "url": null, "type": "order", "created_at": now, "updated_at": now,
    });
    sqlx::query("INSERT INTO tracking_numbers VALUES (?, ?, ?)")
        .bind(tenant)
        .bind(&id)
        .bind(body.to_string())
        .execute(&mut *transaction)
        .await?;
    let status = format!("status_{}", random_suffix("status"));
    let body = json!({
        "id": status, "status": "Order Created", "details": "New order created.", "code": "CREATED", "complete": false,
        "tracking_number": number, "city": null, "province": null, "postal_code": null, "country": null,
        "location": null, "created_at": now, "updated_at": now,
    });
    sqlx::query("INSERT INTO tracking_statuses VALUES (?, ?, ?, ?, ?)")
        .bind(tenant)
        .bind(&id)
        .bind(now_ms())
        .bind(&status)
        .bind(body.to_string())
        .execute(transaction)
        .await?;
    Ok(id)
}
