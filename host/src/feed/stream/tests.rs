use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::time::sleep;

use super::*;
use crate::{
    budget::MemoryConfig,
    commit::testing::{Bench, scope},
    fair::Request,
    feed::{OpenStreams, StreamPermit},
    limits::{PACE_BURST_US, STREAM_CHUNK_US, STREAM_EVENTS_KEPT},
};

/// The stored feed is empty. The test sends the events.
struct World {
    bench: Bench,
    budget: Arc<Budget>,
    open: Arc<Mutex<OpenStreams>>,
}

/// A tenant with its streams.
struct Tenant {
    scope: Scope,
    events: broadcast::Sender<StreamNotification>,
    streams: Vec<Stream>,
    readers: Vec<mpsc::Receiver<Bytes>>,
    _permits: Vec<StreamPermit>,
}

impl World {
    async fn open() -> World {
        let bench = Bench::open().await;
        let budget = Budget::new(&MemoryConfig { budget_bytes: 64 << 20, tenant_percent: 50 });
        tokio::time::pause();
        World { bench, budget, open: Arc::default() }
    }

    fn tenant(&self, tenant: &str, streams: usize, chunks_waiting_max: usize) -> Tenant {
        let (scope, (events, _)) = (scope(tenant), broadcast::channel(STREAM_EVENTS_KEPT));
        let permits: Vec<_> = (0..streams).map(|_| StreamPermit::take(&self.open, scope.clone()).unwrap()).collect();
        let stream = |permit: &StreamPermit| {
            let (chunks, reader) = mpsc::channel(chunks_waiting_max);
            let stream = Stream {
                database: self.bench.database.clone(),
                scope: scope.clone(),
                filter: Filter::default(),
                chunks,
                notifications: events.subscribe(),
                budget: self.budget.clone(),
                pacer: permit.pacer.clone(),
                heartbeat_at: next_heartbeat(),
            };
            (stream, reader)
        };
        let (streams, readers) = permits.iter().map(stream).unzip();
        Tenant { scope, events, streams, readers, _permits: permits }
    }
}

impl Tenant {
    fn emit(&self, seq: EventSeq, bytes: usize) {
        emit(&self.events, &self.scope, seq, bytes);
    }
}

fn emit(events: &broadcast::Sender<StreamNotification>, scope: &Scope, seq: EventSeq, bytes: usize) {
    let event = StoredEvent {
        seq,
        id: seq.to_string().into(),
        scope: scope.clone(),
        event_type: "thing.made".into(),
        subject: "thing_1".into(),
        body: "x".repeat(bytes).into(),
        at: 0,
        queues: Vec::new(),
        is_test: false,
        hops: 0,
    };
    events.send(StreamNotification::Event(Arc::new(event))).unwrap();
}

/// Runs the streams until `done` ends.
async fn run_until(streams: &mut [Stream], done: impl Future<Output = ()>) {
    tokio::select! {
        ends = join_all(streams.iter_mut().map(|stream| stream.follow_live(0))) => panic!("all have ended: {ends:?}"),
        () = done => {}
    }
}

fn received(reader: &mut mpsc::Receiver<Bytes>) -> Vec<Bytes> {
    std::iter::from_fn(|| reader.try_recv().ok()).collect()
}

fn numbers(chunks: &[Bytes]) -> Vec<EventSeq> {
    let text = String::from_utf8(chunks.concat()).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("id: ")).map(|id| id.parse().unwrap()).collect()
}

#[tokio::test]
async fn streams_of_a_tenant_share_a_rate_of_chunks_and_miss_no_event() {
    let world = World::open().await;
    let mut acme = world.tenant("acme/test", 500, 256);
    let started_at = Instant::now();
    let (events, scope) = (acme.events.clone(), acme.scope.clone());
    run_until(&mut acme.streams, async {
        for seq in 1..=200 {
            emit(&events, &scope, seq, 20);
            sleep(Duration::from_millis(10)).await;
        }
        sleep(Duration::from_millis(500)).await;
    })
    .await;
    let elapsed_us = u64::try_from(started_at.elapsed().as_micros()).unwrap();
    let mut sent = 0;
    for reader in &mut acme.readers {
        let chunks = received(reader);
        sent += chunks.len() as u64;
        assert_eq!(numbers(&chunks), (1..=200).collect::<Vec<_>>());
    }
    assert!(sent <= (elapsed_us + PACE_BURST_US) / STREAM_CHUNK_US + 1, "{sent} chunks in {elapsed_us} µs");
}

#[tokio::test]
async fn event_after_a_quiet_time_reaches_a_few_streams_at_once_and_the_rest_at_the_rate() {
    let world = World::open().await;
    let mut acme = world.tenant("acme/test", 1_000, 16);
    acme.emit(1, 20);
    let Tenant { streams, readers, .. } = &mut acme;
    let mut count = || readers.iter_mut().map(|reader| received(reader).len() as u64).sum::<u64>();
    run_until(streams, async {
        sleep(Duration::from_millis(1)).await;
        let at_once = count();
        // The clock of the test moves in steps of a millisecond.
        assert!(0 < at_once && at_once <= (PACE_BURST_US + 3_000) / STREAM_CHUNK_US + 1, "{at_once} streams");
        sleep(Duration::from_millis(500)).await;
        assert_eq!(count(), 1_000 - at_once);
    })
    .await;
}

#[tokio::test]
async fn lone_stream_and_streams_of_another_tenant_are_not_delayed() {
    let world = World::open().await;
    let (mut acme, mut lone) = (world.tenant("acme/test", 1_000, 256), world.tenant("rival/test", 1, 256));
    let (events, scope) = (lone.events.clone(), lone.scope.clone());
    let Tenant { streams, readers, .. } = &mut lone;
    let crowd = (acme.events.clone(), acme.scope.clone());
    let crowded = run_until(&mut acme.streams, std::future::pending());
    let done = async {
        for seq in 1..=100 {
            emit(&crowd.0, &crowd.1, seq, 20);
            let started_at = Instant::now();
            emit(&events, &scope, seq, 20);
            assert_eq!(numbers(&[readers[0].recv().await.unwrap()]), [seq]);
            assert_eq!(started_at.elapsed(), Duration::ZERO);
            sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        () = crowded => {}
        () = run_until(streams, done) => {}
    }
}

#[tokio::test]
async fn stream_sends_heartbeats_while_its_filter_leaves_out_every_event() {
    let world = World::open().await;
    let mut acme = world.tenant("acme/test", 1, 16);
    acme.streams[0].filter = Filter { event_types: vec!["other".into()], ..Filter::default() };
    let (events, scope) = (acme.events.clone(), acme.scope.clone());
    run_until(&mut acme.streams, async {
        for seq in 1..=10 {
            emit(&events, &scope, seq, 20);
            sleep(Duration::from_millis(STREAM_HEARTBEAT_MS / 4)).await;
        }
    })
    .await;
    assert_eq!(received(&mut acme.readers[0]), [wire::heartbeat(), wire::heartbeat()]);
}

#[tokio::test]
async fn gaps_postpone_no_heartbeat() {
    let world = World::open().await;
    let mut acme = world.tenant("acme/test", 1, 16);
    for _ in 0..10 {
        acme.events.send(StreamNotification::Gap).unwrap();
        let at = acme.streams[0].follow_live(0).await.unwrap();
        acme.streams[0].catch_up(at).await.unwrap();
        sleep(Duration::from_millis(STREAM_HEARTBEAT_MS / 4)).await;
    }
    // The clock of the test advances by itself while the feed is read.
    let chunks = received(&mut acme.readers[0]);
    assert!(chunks.len() >= 2 && chunks.iter().all(|chunk| *chunk == wire::heartbeat()), "{chunks:?}");
}

#[tokio::test]
async fn stream_with_a_slow_reader_delays_no_other() {
    let world = World::open().await;
    let mut acme = world.tenant("acme/test", 2, 1);
    acme.streams[0].chunks.try_send(wire::preamble()).unwrap();
    acme.emit(1, 20);
    let (started_at, reader) = (Instant::now(), &mut acme.readers[1]);
    run_until(&mut acme.streams, async {
        reader.recv().await.unwrap();
    })
    .await;
    assert_eq!(started_at.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn gathered_events_go_out_in_chunks_of_a_page_up_to_a_gap() {
    let world = World::open().await;
    let mut acme = world.tenant("acme/test", 1, 16);
    (1..=10).for_each(|seq| acme.emit(seq, 15 << 10));
    acme.events.send(StreamNotification::Gap).unwrap();
    acme.emit(11, 20);
    assert_eq!(acme.streams[0].follow_live(0).await.unwrap(), 10);
    let chunks = received(&mut acme.readers[0]);
    assert_eq!(numbers(&chunks), (1..=10).collect::<Vec<_>>());
    assert_eq!(chunks.len(), 2);
    assert!(chunks.iter().all(|chunk| chunk.len() < STREAM_PAGE_BYTES + (16 << 10)));
}

#[tokio::test]
async fn events_without_memory_are_left_to_the_stored_feed() {
    let world = World::open().await;
    let mut acme = world.tenant("acme/test", 1, 16);
    let all = world.budget.calls_limit() / 100 * 50;
    let rest = 2_500;
    let _held = world.budget.charge_call(acme.scope.tenant(), Request::of(all - rest), stall_deadline()).await.unwrap();
    (1..=5).for_each(|seq| acme.emit(seq, 1_000));
    assert_eq!(acme.streams[0].follow_live(0).await.unwrap(), 2);
    assert_eq!(numbers(&received(&mut acme.readers[0])), [1, 2]);
}

#[tokio::test]
async fn stream_that_waits_for_memory_has_read_nothing() {
    let world = World::open().await;
    let mut acme = world.tenant("acme/test", 1, 1);
    let all = world.budget.calls_limit() / 100 * 50;
    let _held = world.budget.charge_call(acme.scope.tenant(), Request::of(all), stall_deadline()).await.unwrap();
    // Reading an empty feed would succeed without memory.
    let end = acme.streams[0].catch_up(0).await;
    assert!(matches!(end, Err(StreamEnd::NoMemory)), "{end:?}");
}
