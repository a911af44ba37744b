//! A page of another origin that calls the interface from a browser.

use serde_json::json;
use tenon_browser::server::{self, Response};

use crate::support::TestHost;

/// Follows the `Link` header of a list to its end, and counts entries and the total of the header.
const PAGES: &str = "async (base, key) => {
    let [url, names, total] = ['/v1/contacts?limit=2&sort=name', [], ''];
    while (url) {
        const response = await fetch(base + url, { headers: { authorization: `Bearer ${key}` } });
        names.push(...(await response.json()).map((contact) => contact.name));
        total = response.headers.get('x-total-count');
        url = (response.headers.get('link') || '').match(/<([^>]*)>; rel=\"next\"/)?.[1];
    }
    return `${names.join(' ')}, ${total}`;
}";

#[test]
fn page_of_another_origin_reads_a_list_to_its_end() {
    let Some(mut browser) = tenon_browser::acquire() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let page = server::start(|_| Response {
        status: 200,
        headers: vec![("content-type".to_owned(), "text/html".to_owned())],
        body: "<!doctype html><title>app</title>".to_owned(),
    });
    let host = TestHost::builder().fleet("").head(&format!("[http]\ncors-origins = [\"{page}\"]"));
    let host = runtime.block_on(host.start());
    let key = runtime.block_on(host.key("fleet", "acme"));
    let acme = host.client_of(&key);
    for name in ["Ada", "Bob", "Cy", "Dee", "Eve"] {
        let contact = json!({"name": name, "type": "agent"});
        runtime.block_on(acme.post("/v1/contacts", contact)).check(201);
    }
    let mut tab = browser.open(&page);
    let read = tab.text(&format!("({PAGES})('{}', '{key}')", host.base()));
    assert_eq!(read, "Ada Bob Cy Dee Eve, 5");
    runtime.block_on(host.stop());
}
