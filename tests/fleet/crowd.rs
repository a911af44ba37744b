//! Many readers of streams on one host, the real program, and one among them that reads nothing.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenon_bench::{
    crash,
    program::{Program, ProgramPlan, sibling_binary},
    soak,
    wire::Client,
};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
};

use crate::support::RawConnection;

/// As many as one tenant may have.
const READERS: usize = 2_000;
/// A task, a connection with its buffers, and a place in the feed.
const BYTES_EACH_MAX: u64 = 64 << 10;
/// Events of about 1 kB: more than the buffers of two sockets take.
const FLOOD: usize = 4_000;
/// Half a minute of patience, and a busy machine.
const LET_GO_SECONDS_MAX: u64 = 90;

fn head(key: &str) -> String {
    format!("GET /v1/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\r\n")
}

async fn open(program: &Program, key: &str) -> RawConnection {
    let mut stream = RawConnection::open(&program.public.to_string()).await;
    stream.send(&head(key)).await;
    stream.read_until("retry: ").await;
    stream
}

/// One that asks for a stream and takes as little of it as the system lets it.
async fn open_slow(program: &Program, key: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("a small buffer");
    let mut stream = socket.connect(program.public).await.expect("a connection");
    stream.write_all(head(key).as_bytes()).await.expect("a request");
    stream
}

async fn order(client: &mut Client) -> String {
    let made = client.call("POST", "/v1/orders", &json!({"pickup": "a", "dropoff": "b"})).await.expect("an order");
    made["id"].as_str().expect("an id").to_owned()
}

/// Orders with long names, until the host has more for a reader than there is room for on the way to it.
async fn flood(program: &Program, key: &str) {
    let floods = (0..16).map(|place| {
        let mut client = program.client(key);
        tokio::spawn(async move {
            for number in 0..FLOOD / 16 {
                let name = format!("{place}-{number}-{}", "\u{1f69a}".repeat(110));
                let order: Value =
                    json!({"pickup": "a", "dropoff": "b", "internal_id": name, "notes": "\u{1f69a}".repeat(120)});
                client.call("POST", "/v1/orders", &order).await.expect("an order");
            }
        })
    });
    for one in floods.collect::<Vec<_>>() {
        one.await.expect("all orders");
    }
}

/// Waits until the host has closed a connection whose reader takes nothing.
async fn wait_for_slow_reader_to_be_cut(program: &Program) {
    let until = Instant::now() + Duration::from_secs(LET_GO_SECONDS_MAX);
    let mut operator = program.operator().expect("the operators' listener");
    loop {
        let metrics = operator.send("GET", "/metrics", &[], b"").await.expect("metrics");
        let metrics = String::from_utf8(metrics.body.to_vec()).expect("text");
        let cut = metrics.lines().find_map(|line| line.strip_prefix("tenon_http_connections_cut_total "));
        if cut.is_some_and(|count| count != "0") {
            return;
        }
        assert!(Instant::now() < until, "no connection was cut: {cut:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The system cuts a connection of which nothing is taken.
async fn wait_for_cut(stream: &TcpStream) {
    let until = Instant::now() + Duration::from_secs(LET_GO_SECONDS_MAX);
    while stream.take_error().expect("its state").is_none() && stream.try_write(b" ").is_ok() {
        assert!(Instant::now() < until, "the connection is still there");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_streams_are_served_while_one_that_reads_nothing_is_let_go_of() {
    tenon::boot::raise_descriptor_limit();
    let folder = tempfile::tempdir().expect("a folder");
    let binary = sibling_binary("tenon").expect("build tenon first");
    let plan = ProgramPlan { binary, folder: folder.path().to_owned(), plugins: vec![crash::fleet()] };
    let program = Program::start(plan).await.expect("a host");
    let (crowd, few) =
        (program.create_key("fleet", "crowd").expect("a key"), program.create_key("fleet", "few").expect("a key"));
    let slow = open_slow(&program, &few).await;
    flood(&program, &few).await;
    let mut beside = open(&program, &few).await;

    let before = program.resident_kib().expect("its memory");
    let mut readers = Vec::with_capacity(READERS);
    for _ in 0..READERS {
        readers.push(open(&program, &crowd).await);
    }
    let bytes = (program.resident_kib().expect("its memory").saturating_sub(before) << 10) / READERS as u64;
    println!("{bytes} bytes of memory for each of {READERS} streams");
    assert!(bytes <= BYTES_EACH_MAX, "{bytes} bytes for each stream");
    let mut client = program.client(&crowd);
    let refused = client.send("GET", "/v1/stream", &[], b"").await.expect("an answer");
    assert_eq!(refused.status, 503, "one more than a tenant may have");
    let made = [order(&mut client).await, order(&mut client).await];
    for reader in &mut readers {
        reader.read_until(&made[1]).await;
        assert!(reader.text().contains(&made[0]));
    }

    wait_for_slow_reader_to_be_cut(&program).await;
    let late = order(&mut program.client(&few)).await;
    beside.read_until(&late).await;
    if soak::rounds(0, 1) == 1 {
        wait_for_cut(&slow).await;
    }
    drop((slow, beside, readers));
    program.stop().await.expect("an orderly end");
}
