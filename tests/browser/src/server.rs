//! A server of a few pages on a port of its own: what a test says, to whoever asks. It ends with the program.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

pub struct Asked {
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
}

pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// Its address, without a path.
pub fn start(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            // Browsers open connections in advance, and say nothing on them for long.
            std::thread::spawn(move || serve(stream, &*answer));
        }
    });
    address
}

/// Nobody is told what goes wrong: the browser has gone, or says so itself.
fn serve(mut stream: TcpStream, answer: &dyn Fn(&Asked) -> Answer) -> Option<()> {
    let asked = read(&stream)?;
    let Answer { status, headers, body } = answer(&asked);
    let mut head = format!("HTTP/1.1 {status} \r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    write!(stream, "{head}\r\n{body}").ok()
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    Some(Asked { path, headers: headers.collect() })
}
