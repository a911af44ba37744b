use std::time::Duration;

use futures_util::FutureExt;

use super::*;

mod simulation;

const BOUNDS: Bounds = Bounds { capacity: 4, share: 2, waiting_max: 100, waiting_each_max: 50 };

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn one(rank: u64) -> Request {
    Request { amount: 1, rank, queueing: Queueing::Bounded }
}

/// Acquires a permit without waiting.
fn take(fair: &Arc<Fair<&'static str>>, key: &'static str, amount: u64) -> Option<Permit<&'static str>> {
    fair.acquire(&key, Request::of(amount), soon()).now_or_never()?.ok()
}

type Acquired = Result<Permit<&'static str>, AcquireError>;
type Acquiring<'a> = std::pin::Pin<Box<dyn Future<Output = Acquired> + 'a>>;

fn acquiring<'a>(fair: &'a Arc<Fair<&'static str>>, key: &'a &'static str, request: Request) -> Acquiring<'a> {
    let mut acquiring: Acquiring<'a> = Box::pin(fair.acquire(key, request, soon()));
    assert!((&mut acquiring).now_or_never().is_none(), "it has to wait");
    acquiring
}

#[tokio::test]
async fn party_is_limited_to_its_share() {
    let fair = Fair::new(BOUNDS);
    let held = [take(&fair, "a", 1), take(&fair, "a", 1)];
    assert!(held.iter().all(Option::is_some));
    assert!(take(&fair, "a", 1).is_none());
    assert!(fair.acquire(&"b", one(0), soon()).now_or_never().is_some(), "a party with a free share does not wait");
    drop(held);
    assert_eq!(fair.used(), 0);
    assert!(fair.state.lock().is_empty());
}

#[tokio::test]
async fn party_that_holds_nothing_gets_more_than_its_share() {
    let fair = Fair::new(BOUNDS);
    assert!(take(&fair, "a", 4).is_some());
    let whole = fair.acquire(&"a", Request::of(9), soon()).await.ok().unwrap();
    assert_eq!(whole.amount(), 4);
}

#[tokio::test]
async fn single_request_waits_for_at_most_one_of_another_party() {
    let fair = Fair::new(Bounds { capacity: 1, share: 1, ..BOUNDS });
    let first = take(&fair, "crowd", 1);
    let mut crowd: Vec<_> = (0..20).map(|_| acquiring(&fair, &"crowd", one(0))).collect();
    let mut other = acquiring(&fair, &"other", one(0));
    drop(first);
    let before = crowd.iter_mut().find_map(|waiting| waiting.now_or_never());
    drop(before);
    assert!((&mut other).now_or_never().is_some(), "at most one of the crowd is served before it");
}

/// Runs tasks that each acquire one permit, hold it for a while, and record their name. Returns the order.
async fn served(fair: &Arc<Fair<&'static str>>, crowd: &[(&'static str, u64, u64)]) -> Vec<&'static str> {
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks = crowd.iter().map(|&(key, rank, held_ms)| {
        let (fair, order) = (fair.clone(), order.clone());
        async move {
            let permit = fair.acquire(&key, one(rank), soon()).await.ok().unwrap();
            tokio::time::sleep(Duration::from_millis(held_ms)).await;
            order.lock().push(key);
            drop(permit);
        }
    });
    futures_util::future::join_all(tasks).await;
    Arc::into_inner(order).unwrap().into_inner()
}

#[tokio::test(start_paused = true)]
async fn party_with_long_calls_gets_fewer_grants() {
    let fair = Fair::new(Bounds { capacity: 1, share: 1, ..BOUNDS });
    let crowd: Vec<_> = (0..10).map(|_| ("heavy", 0, 100)).chain((0..10).map(|_| ("light", 0, 1))).collect();
    let order = served(&fair, &crowd).await;
    let early = order.iter().take(12).filter(|name| **name == "heavy").count();
    assert!(early <= 2, "{order:?}");
}

#[tokio::test(start_paused = true)]
async fn within_a_party_the_lowest_rank_goes_first() {
    let fair = Fair::new(Bounds { capacity: 1, share: 1, ..BOUNDS });
    let first = take(&fair, "a", 1);
    let mut late = acquiring(&fair, &"a", one(7));
    let mut early = acquiring(&fair, &"a", one(3));
    drop(first);
    assert!((&mut late).now_or_never().is_none());
    assert!((&mut early).now_or_never().is_some());
}

#[tokio::test]
async fn full_queue_rejects_at_once_and_reserves_capacity_for_other_parties() {
    let fair = Fair::new(Bounds { capacity: 1, share: 1, waiting_max: 3, waiting_each_max: 2 });
    let _held = take(&fair, "a", 1).unwrap();
    let _waiting = [acquiring(&fair, &"a", one(0)), acquiring(&fair, &"a", one(0))];
    assert_eq!(fair.acquire(&"a", one(0), soon()).await.err(), Some(AcquireError::QueueFull));
    let _other = acquiring(&fair, &"b", one(0));
    assert_eq!(fair.acquire(&"c", one(0), soon()).await.err(), Some(AcquireError::QueueFull));
    let _reserved = acquiring(&fair, &"a", Request { queueing: Queueing::Reserved, ..one(0) });
}

#[tokio::test(start_paused = true)]
async fn timed_out_request_leaves_the_queue() {
    let fair = Fair::new(Bounds { capacity: 1, share: 1, ..BOUNDS });
    let held = take(&fair, "a", 1);
    assert_eq!(fair.acquire(&"b", one(0), Instant::now()).await.err(), Some(AcquireError::TimedOut));
    drop(acquiring(&fair, &"b", one(0)));
    assert_eq!(fair.waiting(), 0);
    drop(held);
    assert!(fair.state.lock().is_empty());
}

#[tokio::test]
async fn request_that_fits_does_not_wait_for_a_larger_one_in_front() {
    let fair = Fair::new(BOUNDS);
    let held = take(&fair, "a", 2);
    let mut large = acquiring(&fair, &"b", Request::of(4));
    assert!(take(&fair, "c", 1).is_some());
    drop(held);
    assert!((&mut large).now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn large_request_is_overtaken_by_at_most_its_amount() {
    let fair = Fair::new(BOUNDS);
    let held = take(&fair, "a", 2);
    let mut large = acquiring(&fair, &"b", Request::of(4));
    let overtaking = ["c", "d", "e", "f", "g", "h"].into_iter().take_while(|key| take(&fair, key, 1).is_some());
    assert_eq!(overtaking.count(), 3);
    drop(held);
    assert!((&mut large).now_or_never().is_some());
}

#[tokio::test]
async fn empty_permit_belongs_to_no_party_and_can_grow() {
    let fair = Fair::new(BOUNDS);
    let mut permit = take(&fair, "a", 0).unwrap();
    assert!(fair.state.lock().is_empty());
    assert!(permit.grow_to(3));
    assert_eq!(fair.used(), 3);
    drop(permit);
    assert!(fair.state.lock().is_empty());
}

#[tokio::test]
async fn permit_grows_within_the_share_and_shrinks() {
    let fair = Fair::new(BOUNDS);
    let mut permit = take(&fair, "a", 1).unwrap();
    let other = take(&fair, "a", 1).unwrap();
    assert!(!permit.grow_to(2), "the share is used up");
    drop(other);
    assert!(permit.grow_to(3), "alone it may have all that is free");
    assert!(!permit.grow_to(5));
    permit.shrink_to(1);
    assert_eq!((permit.amount(), fair.used()), (1, 1));
    drop(permit);
    assert_eq!(fair.used(), 0);
}

#[tokio::test(start_paused = true)]
async fn sums_are_consistent_after_any_sequence_of_operations() {
    let fair = Fair::new(Bounds { capacity: 10, share: 5, waiting_max: 20, waiting_each_max: 10 });
    let parties = ["a", "b", "c", "d"];
    let tasks = (0..400_u64).map(|number| {
        let (fair, key) = (fair.clone(), parties[number as usize % 4]);
        async move {
            tokio::time::sleep(Duration::from_millis(number * 7 % 50)).await;
            let request = Request { amount: 1 + number % 6, rank: number % 3, queueing: Queueing::Bounded };
            let deadline = Instant::now() + Duration::from_millis(number * 13 % 40);
            if let Ok(mut permit) = fair.acquire(&key, request, deadline).await {
                assert!(fair.used() <= 10);
                tokio::time::sleep(Duration::from_millis(number * 3 % 11)).await;
                permit.shrink_to(1);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
    futures_util::future::join_all(tasks).await;
    assert!(fair.state.lock().is_empty());
}
