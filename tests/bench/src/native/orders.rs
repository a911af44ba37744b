//! The peer's orders: created in one transaction with their event, read by id.

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::Row;

use super::{Failure, Native, insert_event, json_text, now_ms, now_text, random_suffix};

#[derive(Deserialize)]
pub(super) struct NewOrder {
    pickup: Value,
    dropoff: Value,
    notes: Option<String>,
}

pub(super) async fn create_order(
    State(native): State<Native>,
    headers: HeaderMap,
    Json(new): Json<NewOrder>,
) -> Result<Response, Failure> {
    let tenant = native.authenticate(&headers)?;
    let id = format!("order_{}", random_suffix("order"));
    let tracking_number = random_suffix("tracking").to_uppercase();
    let now = now_text();
    let body = json!({
        "id": id, "internal_id": null, "customer": null, "payload": { "pickup": new.pickup, "dropoff": new.dropoff },
        "tracking_number": { "tracking_number": tracking_number }, "notes": new.notes, "type": "default",
        "status": "created", "meta": {}, "pod_required": false, "pod_method": null, "scheduled_at": null,
        "created_at": now, "updated_at": now,
    })
    .to_string();
    let mut transaction = native.writer.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::query("INSERT INTO orders (tenant, id, version, body, created_at, updated_at) VALUES (?, ?, 1, ?, ?, ?)")
        .bind(&*tenant)
        .bind(&id)
        .bind(&body)
        .bind(now_ms())
        .bind(now_ms())
        .execute(&mut *transaction)
        .await?;
    let payload = json!({ "order_id": id, "tracking_number": tracking_number, "customer_id": null });
    insert_event(&mut transaction, &tenant, "order.created", &id, &payload).await?;
    transaction.commit().await?;
    Ok((StatusCode::CREATED, json_text(body)).into_response())
}

pub(super) async fn read_order(
    State(native): State<Native>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let tenant = native.authenticate(&headers)?;
    let row = sqlx::query("SELECT body FROM orders WHERE tenant = ? AND id = ?")
        .bind(&*tenant)
        .bind(&id)
        .fetch_optional(&native.readers)
        .await?
        .ok_or(Failure::NotFound)?;
    Ok(json_text(row.try_get(0)?))
}
