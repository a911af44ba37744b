//! The peer that Tenon is compared with: the measured operations of the fleet interface, written by hand with axum and
//! sqlx on SQLite.
//!
//! Written as a careful engineer would, one transaction for each request: one writer connection (SQLite has one
//! writer, and a pool of writers would only wait), a few readers, prepared statements, WAL with `synchronous=FULL`,
//! and keys found by their hash and kept in memory. A driver update writes the same rows as the plugin: the driver's
//! record and an event.

use std::{collections::HashMap, path::Path, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Path as UrlPath, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::{
    Row, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

mod orders;
#[cfg(test)]
mod tests;

const BUSY_SECONDS: u64 = 5;
const READERS: u32 = 4;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS drivers (
    tenant TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, latitude REAL, PRIMARY KEY (tenant, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS drivers_created ON drivers (tenant, created_at, id);
CREATE INDEX IF NOT EXISTS drivers_updated ON drivers (tenant, updated_at, id);
CREATE INDEX IF NOT EXISTS drivers_latitude ON drivers (tenant, latitude, id);
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, tenant TEXT NOT NULL, type TEXT NOT NULL,
    subject TEXT NOT NULL, payload TEXT NOT NULL, at INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS events_id ON events (id);
CREATE INDEX IF NOT EXISTS events_feed ON events (tenant, seq);
";

#[derive(Clone)]
pub struct Native {
    writer: SqlitePool,
    readers: SqlitePool,
    /// Tenants by the SHA-256 of their keys.
    keys: Arc<HashMap<[u8; 32], Arc<str>>>,
}

impl Native {
    /// Opens or creates the database. `key` is the only key, of the only tenant.
    pub async fn open(file: &Path, key: &str) -> anyhow::Result<Native> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(BUSY_SECONDS));
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_secs(30))
            .connect_with(options.clone())
            .await?;
        sqlx::raw_sql(SCHEMA).execute(&writer).await?;
        sqlx::raw_sql(orders::SCHEMA).execute(&writer).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(Duration::from_secs(30))
            .connect_with(options.read_only(true))
            .await?;
        let keys = HashMap::from([(Sha256::digest(key).into(), Arc::from("bench/test"))]);
        Ok(Native { writer, readers, keys: Arc::new(keys) })
    }

    pub fn router(self) -> Router {
        Router::new()
            .route("/v1/orders", post(orders::create_order))
            .route("/v1/orders/{id}", get(orders::read_order))
            .route("/v1/drivers", post(create_driver))
            .route("/v1/drivers/{id}/track", post(track))
            .with_state(self)
    }

    fn authenticate(&self, headers: &HeaderMap) -> Result<Arc<str>, ApiError> {
        let key = headers.get("authorization").and_then(|value| value.to_str().ok());
        let key = key.and_then(|value| value.strip_prefix("Bearer ")).ok_or(ApiError::Unauthenticated)?;
        let hash: [u8; 32] = Sha256::digest(key).into();
        self.keys.get(&hash).cloned().ok_or(ApiError::Unauthenticated)
    }
}

#[derive(Debug)]
enum ApiError {
    Unauthenticated,
    NotFound,
    Invalid,
    Internal(String),
}

impl From<sqlx::Error> for ApiError {
    fn from(error: sqlx::Error) -> ApiError {
        ApiError::Internal(error.to_string())
    }
}

impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> ApiError {
        ApiError::Internal(error.to_string())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code, text) = match self {
            ApiError::Unauthenticated => (401, "API_UNAUTHENTICATED", "Invalid or missing API credentials"),
            ApiError::NotFound => (404, "RESOURCE_NOT_FOUND", "The requested resource was not found"),
            ApiError::Invalid => (422, "VALIDATION_FAILED", "The request is not valid"),
            ApiError::Internal(cause) => {
                eprintln!("{cause}");
                (500, "INTERNAL", "Something went wrong")
            }
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(json!({ "error": text, "errors": [text], "code": code }))).into_response()
    }
}

/// Driver with all members of the interface.
#[derive(Default, Serialize, Deserialize)]
struct Driver {
    id: String,
    user: Option<String>,
    internal_id: Option<String>,
    company: String,
    company_name: String,
    name: String,
    email: String,
    phone: String,
    drivers_license_number: Option<String>,
    license_expiry: Option<String>,
    photo_url: Option<String>,
    avatar_url: Option<String>,
    vehicle_avatar: Option<String>,
    vehicle: Option<String>,
    current_job: Option<String>,
    vendor: Option<String>,
    location: Point,
    latitude: Option<f64>,
    longitude: Option<f64>,
    heading: f64,
    altitude: f64,
    speed: f64,
    location_recorded_at: Option<String>,
    country: Option<String>,
    currency: Option<String>,
    city: Option<String>,
    timezone: Option<String>,
    online: bool,
    status: String,
    token: Option<String>,
    meta: Value,
    created_at: String,
    updated_at: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct Point {
    r#type: String,
    coordinates: [f64; 2],
}

impl Default for Point {
    fn default() -> Point {
        Point::at(0.0, 0.0)
    }
}

impl Point {
    fn at(latitude: f64, longitude: f64) -> Point {
        Point { r#type: "Point".to_owned(), coordinates: [longitude, latitude] }
    }
}

#[derive(Deserialize)]
struct NewDriver {
    name: String,
    email: String,
    phone: String,
}

async fn create_driver(
    State(native): State<Native>,
    headers: HeaderMap,
    Json(new): Json<NewDriver>,
) -> Result<Response, ApiError> {
    let tenant = native.authenticate(&headers)?;
    let now = now_text();
    let driver = Driver {
        id: format!("driver_{}", random_suffix(&new.email)),
        company: "company_peer".to_owned(),
        company_name: "peer".to_owned(),
        name: new.name,
        email: new.email,
        phone: new.phone,
        status: "available".to_owned(),
        meta: json!({}),
        created_at: now.clone(),
        updated_at: now,
        ..Driver::default()
    };
    let body = serde_json::to_string(&driver)?;
    sqlx::query("INSERT INTO drivers (tenant, id, version, body, created_at, updated_at) VALUES (?, ?, 1, ?, ?, ?)")
        .bind(&*tenant)
        .bind(&driver.id)
        .bind(&body)
        .bind(now_ms())
        .bind(now_ms())
        .execute(&native.writer)
        .await?;
    Ok((StatusCode::CREATED, json_response(body)).into_response())
}

#[derive(Deserialize)]
struct Track {
    latitude: f64,
    longitude: f64,
    heading: Option<f64>,
    speed: Option<f64>,
    altitude: Option<f64>,
}

/// Reads the driver, moves it, and writes it with its event in one transaction.
async fn track(
    State(native): State<Native>,
    UrlPath(id): UrlPath<String>,
    headers: HeaderMap,
    Json(track): Json<Track>,
) -> Result<Response, ApiError> {
    let tenant = native.authenticate(&headers)?;
    if !(-90.0..=90.0).contains(&track.latitude) || !(-180.0..=180.0).contains(&track.longitude) {
        return Err(ApiError::Invalid);
    }
    let mut transaction = native.writer.begin_with("BEGIN IMMEDIATE").await?;
    let row = sqlx::query("SELECT body FROM drivers WHERE tenant = ? AND id = ?")
        .bind(&*tenant)
        .bind(&id)
        .fetch_optional(&mut *transaction)
        .await?
        .ok_or(ApiError::NotFound)?;
    let mut driver: Driver = serde_json::from_str(row.try_get(0)?)?;
    driver.location = Point::at(track.latitude, track.longitude);
    (driver.latitude, driver.longitude) = (Some(track.latitude), Some(track.longitude));
    driver.location_recorded_at = Some(now_text());
    driver.heading = track.heading.unwrap_or(driver.heading);
    driver.speed = track.speed.unwrap_or(driver.speed);
    driver.altitude = track.altitude.unwrap_or(driver.altitude);
    driver.updated_at = now_text();
    let body = serde_json::to_string(&driver)?;
    sqlx::query(
        "UPDATE drivers SET body = ?, version = version + 1, updated_at = ?, latitude = ? WHERE tenant = ? AND id = ?",
    )
    .bind(&body)
    .bind(now_ms())
    .bind(track.latitude)
    .bind(&*tenant)
    .bind(&id)
    .execute(&mut *transaction)
    .await?;
    let payload = json!({ "driver_id": id, "latitude": track.latitude, "longitude": track.longitude,
        "heading": driver.heading, "speed": driver.speed, "altitude": driver.altitude, "id": id, "internal_id": driver.internal_id,
        "name": driver.name, "phone": driver.phone, "location": driver.location, "additionalData": {} });
    insert_event(&mut transaction, &tenant, "driver.location_changed", &id, &payload).await?;
    transaction.commit().await?;
    Ok(json_response(body))
}

async fn insert_event(
    transaction: &mut sqlx::SqliteConnection,
    tenant: &str,
    event_type: &str,
    subject: &str,
    payload: &Value,
) -> Result<(), ApiError> {
    let now = now_ms();
    sqlx::query("INSERT INTO events (id, tenant, type, subject, payload, at) VALUES (?, ?, ?, ?, ?, ?)")
        .bind(format!("event_{}", random_suffix(subject)))
        .bind(tenant)
        .bind(event_type)
        .bind(subject)
        .bind(payload.to_string())
        .bind(now)
        .execute(transaction)
        .await?;
    Ok(())
}

fn json_response(body: String) -> Response {
    ([("content-type", "application/json")], body).into_response()
}

fn now_ms() -> i64 {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Formats the time as cheaply as possible: the peer must not lose time on formatting.
fn now_text() -> String {
    format!("{:013}", now_ms())
}

/// Returns a random suffix that is good enough for a benchmark: the hash of the salt, the time and a counter.
fn random_suffix(salt: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut hash = Sha256::new();
    hash.update(salt);
    hash.update(now_ms().to_le_bytes());
    hash.update(count.to_le_bytes());
    hex::encode(hash.finalize().get(..6).unwrap_or_default())
}
