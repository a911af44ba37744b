//! The smallest component that `wasmtime serve` runs: it reads nothing and answers 200 with two words.
//!
//! A peer of the benchmark: the cost of an HTTP request to a fresh instance, without a rule, a database or a disk.
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
        // With a length the body is not sent in chunks, which the load generator does not read.
        let _set = fields.append("content-length", GREETING.len().to_string().as_bytes());
        let response = OutgoingResponse::new(fields);
        let body = response.body();
        ResponseOutparam::set(outparam, Ok(response));
        let Ok(body) = body else { return };
        if let Ok(stream) = body.write() {
            // A client that is gone needs no greeting.
            let _gone = stream.blocking_write_and_flush(GREETING);
        }
        let _gone = OutgoingBody::finish(body, None);
    }
}

wasip2::http::proxy::export!(Greeter);
