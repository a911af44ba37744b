//! The smallest component that `wasmtime serve` runs: it reads nothing and answers 200 with two words.
//!
//! A peer of the benchmark: the cost of an HTTP request to a fresh instance, without a rule, a database or a disk.
#![cfg(target_arch = "wasm32")]

use wasip2::{
    exports::http::incoming_handler::Guest,
    http::types::{Fields, IncomingRequest, OutgoingBody, OutgoingResponse, ResponseOutparam},
};

struct Greeter;

impl Guest for Greeter {
    fn handle(_request: IncomingRequest, outparam: ResponseOutparam) {
        let response = OutgoingResponse::new(Fields::new());
        let body = response.body();
        ResponseOutparam::set(outparam, Ok(response));
        let Ok(body) = body else { return };
        if let Ok(stream) = body.write() {
            // A client that is gone needs no greeting.
            let _gone = stream.blocking_write_and_flush(b"hello, world\n");
        }
        let _gone = OutgoingBody::finish(body, None);
    }
}

wasip2::http::proxy::export!(Greeter);
