//! Places as callers write them, wrongly.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;

/// `pickup` is the JSON text of the field; the answer is the first sentence of the refusal.
fn refused(pickup: &str) -> String {
    let body = ["{\"dropoff\":\"b\",\"pickup\":", pickup, "}"].concat();
    let answer = TestHost::new(&PLUGIN).call(TestCall::post("/v1/orders").text(&body));
    assert_eq!((answer.status, answer.json()["code"].clone()), (422, json!("VALIDATION_FAILED")), "{pickup}");
    answer.json()["error"].as_str().unwrap().to_owned()
}

#[test]
fn a_text_that_is_not_unicode_is_a_wrong_field() {
    let place = "must be an address, coordinates, or a place.";
    let table = [
        ("/v1/orders", r#"{"pickup":"\ud800","dropoff":"b"}"#, format!("The pickup field {place}")),
        ("/v1/orders", r#"{"pickup":"a","dropoff":"\udc00"}"#, format!("The dropoff field {place}")),
        ("/v1/orders", r#"{"waypoints":["a","\ud800"]}"#, format!("The waypoints.1 field {place}")),
        (
            "/v1/orders",
            r#"{"pickup":{"location":"\ud800"},"dropoff":"b"}"#,
            format!("The pickup.location field {place}"),
        ),
        (
            "/v1/orders",
            r#"{"pickup":{"city":"\ud800"},"dropoff":"b"}"#,
            "The pickup.city field must be a text.".to_owned(),
        ),
        (
            "/v1/orders",
            r#"{"pickup":"a","dropoff":"b","customer":"\ud800"}"#,
            "The customer field must be an id or an object.".to_owned(),
        ),
        (
            "/v1/orders",
            r#"{"pickup":"a","dropoff":"b","customer":{"id":"\ud800"}}"#,
            "The customer.id field must be a text.".to_owned(),
        ),
        (
            "/v1/orders",
            r#"{"pickup":"a","dropoff":"b","meta":{"k":"\ud800"}}"#,
            "The meta field must be an object of Unicode texts and finite numbers.".to_owned(),
        ),
        ("/v1/drivers", r#"{"name":"a","location":"\ud800"}"#, format!("The location field {place}")),
    ];
    for (path, body, sentence) in table {
        let answer = TestHost::new(&PLUGIN).call(TestCall::post(path).text(body));
        assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(sentence)), "{body}");
    }
}

#[test]
fn an_address_has_the_same_bounds_in_every_form() {
    let long = json!("x".repeat(501)).to_string();
    for (form, field) in
        [("%", "pickup"), (r#"{"street1":%}"#, "pickup.street1"), (r#"{"address":%}"#, "pickup.address")]
    {
        let too_long = format!("The {field} field may not be longer than 500 characters.");
        assert_eq!(refused(&form.replace('%', &long)), too_long);
        let control = format!("The {field} field must be a text without control characters.");
        assert_eq!(refused(&form.replace('%', r#""a\u0000b""#)), control);
        let lines = ["{\"dropoff\":\"b\",\"pickup\":", &form.replace('%', r#""1 Main St\nSpringfield""#), "}"].concat();
        let order = TestHost::new(&PLUGIN).call(TestCall::post("/v1/orders").text(&lines)).json();
        assert_eq!(order["payload"]["pickup"]["street1"], "1 Main St\nSpringfield");
    }
    assert_eq!(refused(r#"{"address":5}"#), "The pickup.address field must be a text.");
}

#[test]
fn coordinates_are_on_the_earth_in_every_form() {
    let forms = [
        ("[91,0]", "latitude"),
        (r#""91,0""#, "latitude"),
        (r#""nan,0""#, "latitude"),
        (r#"{"name":"a","latitude":91,"longitude":0}"#, "latitude"),
        (r#"{"lat":"91","lng":"0"}"#, "lat"),
        (r#"{"y":-90.1,"x":0}"#, "y"),
        (r#"{"type":"Point","coordinates":[0,91]}"#, "coordinates.latitude"),
        (r#"{"type":"Feature","geometry":{"type":"Point","coordinates":[0,91]}}"#, "geometry.coordinates.latitude"),
        (r#"{"name":"a","location":"91,0"}"#, "location.latitude"),
        (r#"{"name":"a","location":[91,0]}"#, "location.latitude"),
    ];
    for (form, field) in forms {
        assert_eq!(refused(form), format!("The pickup.{field} field must be between -90 and 90."), "{form}");
    }
}

#[test]
fn half_a_position_is_none() {
    let table = [
        (r#"{"name":"a","latitude":1}"#, "The pickup.longitude field is required when pickup.latitude is set."),
        (r#"{"name":"a","lng":1}"#, "The pickup.latitude field is required when pickup.lng is set."),
        (r#"{"name":"a","lat":"north","lng":1}"#, "The pickup.lat field must be a number."),
        (r#"{"name":"a","latitude":1e999,"longitude":1}"#, "The pickup.latitude field must be a number."),
        (
            r#"{"name":"a","latitude":1,"longitude":null}"#,
            "The pickup.longitude field is required when pickup.latitude is set.",
        ),
    ];
    for (form, sentence) in table {
        assert_eq!(refused(form), sentence, "{form}");
    }
    let driver = json!({"name": "a", "email": "a@b", "phone": "1", "latitude": 1});
    let answer = TestHost::new(&PLUGIN).call(TestCall::post("/v1/drivers").json(&driver));
    assert_eq!(answer.json()["error"], "The longitude field is required when latitude is set.");
    let nowhere = json!({"pickup": {"name": "a", "latitude": null, "longitude": null}, "dropoff": "b"});
    let order = TestHost::new(&PLUGIN).call(TestCall::post("/v1/orders").json(&nowhere)).json();
    assert_eq!(order.pointer("/payload/pickup/location/coordinates"), Some(&json!([0, 0])));
    assert_eq!(order["payload"]["pickup"]["street1"], Value::Null);
}

fn place(host: &TestHost, body: &Value) -> Value {
    let answer = host.call(TestCall::post("/v1/places").json(body));
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()
}

#[test]
fn a_place_may_be_written_in_any_form() {
    let host = TestHost::new(&PLUGIN);
    let table = [
        (json!({"address": "1 Main St"}), json!("1 Main St"), json!([0, 0])),
        (json!({"street1": "1 Main St", "city": "Wien"}), json!("1 Main St, Wien"), json!([0, 0])),
        (json!({"latitude": 48.2, "longitude": "16.37"}), Value::Null, json!([16.37, 48.2])),
        (json!({"location": [48.2, 16.37]}), Value::Null, json!([16.37, 48.2])),
        (json!({"location": {"type": "Point", "coordinates": [16.37, 48.2]}}), Value::Null, json!([16.37, 48.2])),
    ];
    for (body, address, coordinates) in table {
        let shown = place(&host, &body);
        assert_eq!((&shown["address"], &shown["location"]["coordinates"]), (&address, &coordinates), "{body}");
        assert!(shown.get("find").is_none(), "{shown}");
    }
}

#[test]
fn a_place_has_an_owner_who_exists() {
    let host = TestHost::new(&PLUGIN);
    let ada = host.call(TestCall::post("/v1/customers").json(&json!({"name": "Ada"}))).json();
    let shown = place(&host, &json!({"name": "Depot", "owner": ada["id"]}));
    assert_eq!(shown["owner"], ada["id"]);
    let list = host.call(TestCall::get(&format!("/v1/places?owner={}", ada["id"].as_str().unwrap()))).json();
    assert_eq!(list, json!([shown]));
    let nobody = host.call(TestCall::post("/v1/places").json(&json!({"name": "a", "owner": "contact_0000000000"})));
    assert_eq!(nobody.status, 404);
}

#[test]
fn a_place_that_moves_is_where_it_was_moved_to() {
    let host = TestHost::new(&PLUGIN);
    let path =
        format!("/v1/places/{}", place(&host, &json!({"name": "Depot", "location": [1, 2]}))["id"].as_str().unwrap());
    let put = |body: Value| host.call(TestCall::put(&path).json(&body)).json();
    assert_eq!(put(json!({"city": "Wien"}))["location"]["coordinates"], json!([2, 1]));
    assert_eq!(put(json!({"latitude": 3, "longitude": 4}))["location"]["coordinates"], json!([4, 3]));
    assert_eq!(put(json!({"location": null}))["location"]["coordinates"], json!([0, 0]));
    assert_eq!(put(json!({"name": null, "city": null}))["error"], "The address field is required.");
}

#[test]
fn places_are_searched_by_the_beginning_of_name_or_street() {
    let host = TestHost::new(&PLUGIN);
    for (name, street, latitude) in [("Harbour", "Bay Road", 1.0), ("Bay Hotel", "Main St", 3.0), ("Mill", "Hill", 2.0)]
    {
        place(&host, &json!({"name": name, "street1": street, "latitude": latitude, "longitude": 103}));
    }
    let names = |query: &str| {
        let answer = host.call(TestCall::get(&format!("/v1/places/search?{query}")));
        let name = |place: &Value| place["name"].as_str().unwrap().to_owned();
        answer.json().as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names("query=bay"), ["Bay Hotel", "Harbour"]);
    assert_eq!(names("query=BAY R"), ["Harbour"]);
    assert_eq!(names("query=nowhere"), Vec::<String>::new());
    assert_eq!(names("query=bay&latitude=0&longitude=103"), ["Harbour", "Bay Hotel"]);
    assert_eq!(names("latitude=2.1&longitude=103&limit=2"), ["Mill", "Bay Hotel"]);
    assert_eq!(names("query=bay&limit=1"), ["Bay Hotel"]);
}

#[test]
fn a_search_has_bounds() {
    let host = TestHost::new(&PLUGIN);
    for query in
        ["limit=-1", "limit=ten", "latitude=1", "longitude=1", "latitude=91&longitude=1", "latitude=a&longitude=1"]
    {
        assert_eq!(host.call(TestCall::get(&format!("/v1/places/search?{query}"))).status, 422, "{query}");
    }
    let driver = TestCall::get("/v1/places/search?query=a").attribute("driver", "driver_0000000000").token();
    assert_eq!(host.call(driver).status, 403);
}

/// The pickup of a payload that goes from there to somewhere else.
fn picked_up(host: &TestHost, pickup: Value) -> TestAnswer {
    let body = json!({"type": "transport", "pickup": pickup, "dropoff": "elsewhere"});
    host.call(TestCall::post("/v1/payloads").json(&body))
}

fn pickup_of(host: &TestHost, pickup: Value) -> Value {
    let answer = picked_up(host, pickup);
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()["pickup"].clone()
}

#[test]
fn an_address_that_is_known_is_the_place_that_it_was() {
    let host = TestHost::new(&PLUGIN);
    let depot = place(&host, &json!({"name": "Depot", "street1": "2 Bay Rd", "location": [1, 2]}));
    for known in
        [json!("2 Bay Rd"), json!(" 2 bay rd "), json!("DEPOT"), depot["id"].clone(), json!({"id": depot["id"]})]
    {
        assert_eq!(pickup_of(&host, known.clone())["id"], depot["id"], "{known}");
    }
    let new = pickup_of(&host, json!("2 Bay Road"));
    assert_ne!(new["id"], depot["id"]);
    assert_eq!(pickup_of(&host, json!("2 Bay Road"))["id"], new["id"]);
    let elsewhere = pickup_of(&host, json!({"street1": "2 Bay Rd"}));
    assert_ne!(elsewhere["id"], depot["id"], "an object is a place of its own");
}

#[test]
fn a_long_address_is_known_by_all_of_it() {
    let host = TestHost::new(&PLUGIN);
    let (one, other) = (["x".repeat(400), "a".to_owned()].concat(), ["x".repeat(400), "b".to_owned()].concat());
    let first = pickup_of(&host, json!(one));
    assert_ne!(pickup_of(&host, json!(other))["id"], first["id"]);
    assert_eq!(pickup_of(&host, json!(one))["id"], first["id"]);
}

#[test]
fn a_place_may_be_where_a_driver_is() {
    let host = TestHost::new(&PLUGIN);
    let ada = json!({"name": "Ada", "email": "ada@x.org", "phone": "+6591234567", "location": [1, 2]});
    let ada = host.call(TestCall::post("/v1/drivers").json(&ada)).json();
    let pickup = pickup_of(&host, ada["id"].clone());
    assert_eq!((&pickup["location"]["coordinates"], &pickup["address"]), (&json!([2, 1]), &Value::Null));
}

#[test]
fn what_a_place_refers_to_exists() {
    let host = TestHost::new(&PLUGIN);
    let unknown = ["place_0000000000", "driver_0000000000"];
    let objects =
        [json!({"id": "place_0000000000"}), json!({"id": 5}), json!({"name": "a", "owner": "contact_0000000000"})];
    for pickup in unknown.map(|id| json!(id)).into_iter().chain(objects) {
        assert_eq!(picked_up(&host, pickup.clone()).status, 404, "{pickup}");
    }
}

#[test]
fn what_nobody_reads_of_a_stop_is_told_or_refused() {
    let host = TestHost::new(&PLUGIN);
    let order = json!({
        "pickup": {"name": "Depot", "streeet1": "2 Bay Rd"},
        "waypoints": ["b", {"name": "c", "colour": "red", "notes": "ring"}],
        "customer": {"name": "Ada", "age": 36},
        "entities": [{"name": "Piano", "keys": 88}],
    });
    let answer = host.call(TestCall::post("/v1/orders").json(&order));
    let told = answer.headers.iter().find(|(name, _)| name == "x-unknown-fields").map(|(_, value)| value.as_str());
    let mut names: Vec<&str> = told.unwrap_or_default().split(", ").collect();
    names.sort_unstable();
    assert_eq!(
        (answer.status, names),
        (201, vec!["customer.age", "entities.keys", "pickup.streeet1", "waypoints.colour"])
    );
    let strict = host.call(TestCall::post("/v1/orders?strict=true").json(&order));
    let sentence = strict.json()["error"].as_str().unwrap().to_owned();
    assert_eq!(strict.status, 422);
    assert!(sentence.starts_with("These fields are not known: ") && sentence.contains("pickup.streeet1"), "{sentence}");
}

#[test]
fn an_object_that_says_something_twice_is_refused_wherever_it_stands() {
    let (driver, twice) = (r#""name":"a","email":"a@b","phone":"1""#, r#"{"id":"a","id":"b"}"#);
    let stops = r#""pickup":"a","dropoff":"b""#;
    let table = [
        ("/v1/orders", format!(r#"{{"pickup":{twice},"dropoff":"b"}}"#), "pickup"),
        (
            "/v1/orders",
            r#"{"pickup":{"name":"a","location":{"lat":1,"lat":2,"lng":3}},"dropoff":"b"}"#.to_owned(),
            "pickup.location",
        ),
        (
            "/v1/orders",
            r#"{"pickup":{"geometry":{"coordinates":[1,2],"coordinates":[3,4]}},"dropoff":"b"}"#.to_owned(),
            "pickup.geometry",
        ),
        ("/v1/orders", format!(r#"{{{stops},"customer":{twice}}}"#), "customer"),
        ("/v1/orders", format!(r#"{{{stops},"facilitator":{twice}}}"#), "facilitator"),
        ("/v1/orders", format!(r#"{{{stops},"driver":{twice}}}"#), "driver"),
        ("/v1/orders", format!(r#"{{{stops},"vehicle":{twice}}}"#), "vehicle"),
        ("/v1/drivers", format!(r#"{{{driver},"vehicle":{twice}}}"#), "vehicle"),
        ("/v1/drivers", format!(r#"{{{driver},"job":{twice}}}"#), "job"),
        (
            "/v1/orders/order_0000000000/update-activity",
            r#"{"activity":{"code":"a","code":"b"}}"#.to_owned(),
            "activity",
        ),
        (
            "/v1/order-configs",
            r#"{"name":"F","key":"f","flow":{"a":{"code":"a"},"a":{"code":"b"}}}"#.to_owned(),
            "flow",
        ),
        ("/v1/order-configs", r#"{"name":"F","key":"f","flow":[{"code":"a","code":"b"}]}"#.to_owned(), "flow"),
    ];
    for (path, body, field) in table {
        let answer = TestHost::new(&PLUGIN).call(TestCall::post(path).text(&body));
        let sentence = format!("The {field} field must have each of its members once.");
        assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(sentence)), "{body}");
    }
}

#[test]
fn an_object_without_an_id_stands_for_nobody() {
    for id in ["null", "5", "\"\""] {
        let body = format!(r#"{{"pickup":"a","dropoff":"b","driver":{{"id":{id}}}}}"#);
        let answer = TestHost::new(&PLUGIN).call(TestCall::post("/v1/orders").text(&body));
        assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!("The driver field must be an id.")));
    }
}
