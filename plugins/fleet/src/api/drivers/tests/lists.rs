//! Lists of drivers: filters, and who is near.

use super::*;

fn names(answer: &TestAnswer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json().as_array().unwrap().iter().map(|driver| driver["name"].as_str().unwrap().to_owned()).collect()
}

fn list(host: &TestHost, query: &str) -> TestAnswer {
    host.call(TestCall::get(&format!("/v1/drivers{query}")))
}

/// Around a square in Singapore, and one whom nobody has seen.
fn town() -> TestHost {
    let host = host();
    for (name, more) in [
        ("near", json!({"latitude": 1.301, "longitude": 103.8, "online": true, "country": "SG"})),
        ("here", json!({"latitude": 1.3, "longitude": 103.8, "status": "inactive", "online": true})),
        ("east", json!({"latitude": 1.3, "longitude": 103.83, "internal_id": "E1"})),
        ("far", json!({"latitude": 1.3, "longitude": 104.2, "online": true})),
        ("unseen", json!({"online": true})),
    ] {
        created(&host, name, more);
        host.advance_ms(10);
    }
    host
}

#[test]
fn drivers_are_listed_newest_first_and_by_filters() {
    let host = town();
    assert_eq!(names(&list(&host, "")), ["unseen", "far", "east", "here", "near"]);
    assert_eq!(names(&list(&host, "?sort=oldest&limit=2&offset=1")), ["here", "east"]);
    assert_eq!(names(&list(&host, "?status=inactive")), ["here"]);
    assert_eq!(names(&list(&host, "?online=true&country=SG")), ["near"]);
    assert_eq!(names(&list(&host, "?internal_id=E1")), ["east"]);
    assert_eq!(names(&list(&host, "?query=fa")), ["far"]);
    assert_eq!(names(&list(&host, "?email=east@x.org")), ["east"]);
    assert!(list(&host, "?colour=red").headers.contains(&("x-unknown-parameters".to_owned(), "colour".to_owned())));
    assert_eq!(list(&host, "?online=maybe").status, 422);
    assert!(names(&host.call(TestCall::get("/v1/drivers").tenant("umbra/test"))).is_empty());
}

#[test]
fn those_who_are_near_come_nearest_first() {
    let host = town();
    let square = "nearby=1.3,103.8";
    assert_eq!(names(&list(&host, &format!("?{square}"))), ["here", "near", "east"]);
    assert_eq!(names(&list(&host, &format!("?{square}&radius=500"))), ["here", "near"]);
    assert_eq!(names(&list(&host, &format!("?{square}&radius=100000"))), ["here", "near", "east", "far"]);
    assert_eq!(names(&list(&host, &format!("?{square}&online=true&sort=distance"))), ["here", "near"]);
    let page = list(&host, &format!("?{square}&limit=1&offset=1"));
    assert_eq!(names(&page), ["near"]);
    assert!(page.headers.contains(&("x-total-count".to_owned(), "3".to_owned())), "{:?}", page.headers);
    assert!(page.headers.iter().any(|(name, value)| name == "link" && value.contains("rel=\"next\"")));
}

#[test]
fn a_point_is_written_in_many_ways() {
    let host = town();
    let here = list(&host, "?query=here").json()[0]["id"].as_str().unwrap().to_owned();
    for point in ["[1.3,103.8]", r#"{"type":"Point","coordinates":[103.8,1.3]}"#, r#"{"lat":1.3,"lng":103.8}"#, &here] {
        assert_eq!(names(&list(&host, &format!("?nearby={point}&radius=500"))), ["here", "near"], "{point}");
    }
    let unseen = list(&host, "?query=unseen").json()[0]["id"].as_str().unwrap().to_owned();
    for (query, status) in [
        ("?nearby=Main Street", 422),
        ("?nearby=", 422),
        ("?nearby=91,0", 422),
        ("?nearby=1,1&sort=-created_at", 422),
        ("?sort=distance", 422),
        ("?nearby=1,1&sort=distance", 200),
        ("?nearby=1,1&radius=0", 422),
        ("?nearby=1,1&radius=wide", 422),
        ("?nearby=1,1&radius=NaN", 422),
        (&format!("?nearby={unseen}"), 422),
        ("?nearby=driver_0000000000", 404),
        (&format!("?nearby={}1,1{}", "[".repeat(4_000), "]".repeat(4_000)), 422),
        (&format!("?nearby={}1{}", "{\"location\":".repeat(700), "}".repeat(700)), 422),
    ] {
        assert_eq!(list(&host, query).status, status, "{query}");
    }
}

#[test]
fn drivers_and_orders_read_the_same_points() {
    let host = town();
    let sentence = |list: &str, nearby: &str| {
        let answer = host.call(TestCall::get(&format!("/v1/{list}?nearby={nearby}")));
        (answer.status, answer.json()["error"].clone())
    };
    let unseen = list(&host, "?query=unseen").json()[0]["id"].as_str().unwrap().to_owned();
    let not_a_point = "The nearby field must be a point, or the id of a place or a driver.";
    for (nearby, expected) in [
        ("Main Street", not_a_point),
        ("", not_a_point),
        ("{}", "The nearby field must be an address, coordinates, or a place."),
        ("91,0", "The nearby.latitude field must be between -90 and 90."),
        (unseen.as_str(), "The nearby field is not accepted: nobody knows where it is."),
    ] {
        assert_eq!(sentence("drivers", nearby), (422, json!(expected)), "{nearby}");
        assert_eq!(sentence("orders", nearby), sentence("drivers", nearby), "{nearby}");
    }
}

#[test]
fn drivers_are_found_across_the_date_line_and_around_a_pole() {
    let host = host();
    created(&host, "fiji", json!({"latitude": -17.0, "longitude": -179.99}));
    created(&host, "pole", json!({"latitude": 89.99, "longitude": 120}));
    assert_eq!(names(&list(&host, "?nearby=-17,179.99")), ["fiji"]);
    assert_eq!(names(&list(&host, "?nearby=89.99,-60")), ["pole"]);
}
