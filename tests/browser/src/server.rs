//! Minimal HTTP server for pages on its own port. The test provides the responses. The server runs until the test
//! binary ends.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

pub struct Request {
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
}

pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// Starts a server and returns its address, without a path.
pub fn start(respond: impl Fn(&Request) -> Response + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let respond = Arc::new(respond);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let respond = Arc::clone(&respond);
            // Browsers open connections in advance, and send nothing on them for a long time.
            std::thread::spawn(move || serve(stream, &*respond));
        }
    });
    address
}

/// Serves one request. Errors are ignored: the browser closed the connection, or reports the error itself.
fn serve(mut stream: TcpStream, respond: &dyn Fn(&Request) -> Response) -> Option<()> {
    let request = read(&stream)?;
    let Response { status, headers, body } = respond(&request);
    let mut head = format!("HTTP/1.1 {status} \r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    write!(stream, "{head}\r\n{body}").ok()
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    Some(Request { path, headers: headers.collect() })
}
