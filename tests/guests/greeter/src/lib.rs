//! Minimal component for `wasmtime serve`: it reads nothing and responds with 200 and a short text.
//!
//! The benchmark measures it as a peer: the cost of an HTTP request to a fresh instance, without rules, database or
//! disk.
#![cfg(target_arch = "wasm32")]

use wasip2::{
    exports::http::incoming_handler::Guest,
    http::types::{Fields, IncomingRequest, OutgoingBody, OutgoingResponse, ResponseOutparam},
};

const GREETING: &[u8] = b"hello, world\n";

struct Greeter;

impl Guest for Greeter {
    fn handle(_request: IncomingRequest, outparam: ResponseOutparam) {
        let fields = Fields::new();
        // A content length avoids a chunked body, which the load generator cannot read.
        let _set = fields.append("content-length", GREETING.len().to_string().as_bytes());
        let response = OutgoingResponse::new(fields);
        let body = response.body();
        ResponseOutparam::set(outparam, Ok(response));
        let Ok(body) = body else { return };
        if let Ok(stream) = body.write() {
            // An error means that the client has disconnected.
            let _disconnected = stream.blocking_write_and_flush(GREETING);
        }
        let _disconnected = OutgoingBody::finish(body, None);
    }
}

wasip2::http::proxy::export!(Greeter);
