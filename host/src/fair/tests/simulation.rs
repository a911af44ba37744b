//! The order of grants under random load: no party gets ahead of a waiting one, and no grant is lost.

use std::pin::Pin;

use futures_util::future::join_all;
use proptest::prelude::*;

use super::*;

const TICK_MS: u64 = 10;

/// Events of a call of a party: it began to wait, was granted a unit, or released it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Waits(usize),
    Granted(usize),
    Returned(usize),
}

/// Runs parties with this many calls each. Each call repeatedly holds one unit for a tick.
fn run(capacity: u64, calls: &[usize], names: &[u64], ticks: usize) -> Vec<Event> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let bounds = Bounds { capacity, share: capacity, waiting_max: 100, waiting_each_max: 100 };
    let (fair, events) = (Fair::new(bounds), Mutex::new(Vec::new()));
    let all = calls.iter().enumerate().flat_map(|(party, count)| std::iter::repeat_n(party, *count));
    let calls = all.map(async |party| {
        for _ in 0..ticks {
            events.lock().push(Event::Waits(party));
            let permit = fair.acquire(&names[party], Request::of(1), soon()).await.unwrap();
            events.lock().push(Event::Granted(party));
            tokio::time::sleep(Duration::from_millis(TICK_MS)).await;
            events.lock().push(Event::Returned(party));
            drop(permit);
            fair.state.lock().check(&fair.bounds);
        }
    });
    runtime.block_on(join_all(calls));
    assert!(fair.state.lock().is_empty());
    events.into_inner()
}

fn load() -> impl Strategy<Value = (u64, Vec<usize>, Vec<u64>)> {
    (1_u64..=4, prop::collection::vec(1_usize..=5, 2..=6)).prop_flat_map(|(capacity, calls)| {
        let names: Vec<u64> = (0..calls.len() as u64).collect();
        (Just(capacity), Just(calls), Just(names).prop_shuffle())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// While a call of one party waits, another party may catch up and get ahead by one tick of each unit.
    #[test]
    fn no_party_is_served_ahead_of_a_waiting_one((capacity, calls, names) in load()) {
        let events = run(capacity, &calls, &names, 12);
        let mut ahead = vec![vec![0_u64; calls.len()]; calls.len()];
        let mut waiting = vec![0_usize; calls.len()];
        for event in events {
            match event {
                Event::Waits(party) => {
                    if waiting[party] == 0 {
                        ahead[party].fill(0);
                    }
                    waiting[party] += 1;
                }
                Event::Granted(party) => {
                    waiting[party] -= 1;
                    ahead[party].fill(0);
                    for other in (0..calls.len()).filter(|other| *other != party && waiting[*other] > 0) {
                        ahead[other][party] += 1;
                        prop_assert!(ahead[other][party] <= 2 * capacity, "{party} before {other}: {ahead:?}");
                    }
                }
                Event::Returned(_) => {}
            }
        }
    }

    /// Parties that always request as much as there is are served equally, regardless of their number of calls.
    #[test]
    fn parties_with_enough_calls_are_served_equally((capacity, calls, names) in load()) {
        let calls: Vec<usize> = calls.iter().map(|count| count + capacity as usize).collect();
        let (mut served, mut left) = (vec![0_u64; calls.len()], calls.clone());
        let ticks = 12;
        left.iter_mut().for_each(|left| *left *= ticks);
        for event in run(capacity, &calls, &names, ticks) {
            let Event::Returned(party) = event else { continue };
            served[party] += 1;
            left[party] -= 1;
            if left.iter().zip(&calls).any(|(left, count)| left < count) {
                // A party may have less to do than its share.
                break;
            }
            let (least, most) = (served.iter().min().unwrap(), served.iter().max().unwrap());
            prop_assert!(most - least <= capacity + 1, "{served:?}");
        }
    }

    #[test]
    fn parties_with_one_call_each_finish_together(capacity in 1_u64..=4, more in 1_usize..=4, seed in any::<u64>()) {
        let count = capacity as usize + more;
        let names: Vec<u64> = (0..count as u64).map(|name| name.wrapping_mul(seed | 1).rotate_left(7)).collect();
        let mut served = vec![0_u64; count];
        for event in run(capacity, &vec![1; count], &names, 30) {
            let Event::Granted(party) = event else { continue };
            served[party] += 1;
            let (least, most) = (served.iter().min().unwrap(), served.iter().max().unwrap());
            prop_assert!(most - least <= 2, "{served:?}");
        }
    }
}

/// New parties arrive endlessly.
#[tokio::test(start_paused = true)]
async fn endless_newcomers_do_not_starve_large_requests_or_parties_in_debt() {
    for amount in [1, 8] {
        let fair = Fair::new(Bounds { capacity: 8, share: 8, waiting_max: 100, waiting_each_max: 50 });
        let held = fair.acquire(&0, Request::of(8), soon()).await.unwrap();
        let mut newcomers = Vec::new();
        let arrive = |name: u64| {
            let fair = fair.clone();
            let mut call = Box::pin(async move { fair.acquire(&name, Request::of(1), soon()).await.ok().unwrap() });
            assert!((&mut call).now_or_never().is_none());
            call
        };
        (1..=16).for_each(|name| newcomers.push(arrive(name)));
        // The party is charged for what it has held while others wait.
        tokio::time::advance(Duration::from_millis(20)).await;
        let fair_again = fair.clone();
        let mut again = Box::pin(async move { fair_again.acquire(&0, Request::of(amount), soon()).await });
        assert!((&mut again).now_or_never().is_none());
        drop(held);
        let mut name = 16;
        while (&mut again).now_or_never().is_none() {
            tokio::task::yield_now().await;
            let at = newcomers.iter_mut().position(|call| call.now_or_never().map(drop).is_some());
            if let Some(at) = at {
                drop(newcomers.remove(at));
            }
            name += 1;
            assert!(name < 5_000, "the request starves");
            newcomers.push(arrive(name));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn debts_end_when_no_party_waits() {
    let fair = Fair::new(Bounds { capacity: 1, share: 1, ..BOUNDS });
    let held = take(&fair, "heavy", 1);
    let mut light = acquiring(&fair, &"light", one(0));
    tokio::time::advance(Duration::from_millis(500)).await;
    drop(held);
    let held = (&mut light).now_or_never();
    // The queue was empty.
    let mut heavy = acquiring(&fair, &"heavy", one(0));
    let mut other = acquiring(&fair, &"light", one(0));
    drop(held);
    assert!((&mut heavy).now_or_never().is_some());
    assert!((&mut other).now_or_never().is_some());
}

#[derive(Clone, Debug)]
enum Step {
    Request { party: u8, amount: u64, rank: u64 },
    Poll(usize),
    Cancel(usize),
    Return(usize),
    Shrink(usize, u64),
    Grow(usize, u64),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0_u8..5, 0_u64..12, 0_u64..3).prop_map(|(party, amount, rank)| Step::Request { party, amount, rank }),
        4 => any::<usize>().prop_map(Step::Poll),
        2 => any::<usize>().prop_map(Step::Cancel),
        3 => any::<usize>().prop_map(Step::Return),
        1 => (any::<usize>(), 0_u64..6).prop_map(|(at, amount)| Step::Shrink(at, amount)),
        1 => (any::<usize>(), 0_u64..12).prop_map(|(at, amount)| Step::Grow(at, amount)),
        2 => (0_u64..2_000).prop_map(Step::Pass),
    ]
}

type Requested = Pin<Box<dyn Future<Output = Result<Permit<u8>, AcquireError>>>>;

/// Pending requests and held permits.
#[derive(Default)]
struct World {
    requests: Vec<Requested>,
    permits: Vec<Permit<u8>>,
}

impl World {
    fn poll(&mut self, at: usize) {
        if let Some(done) = (&mut self.requests[at]).now_or_never() {
            drop(self.requests.remove(at));
            self.permits.extend(done.ok());
        }
    }

    async fn perform(&mut self, fair: &Arc<Fair<u8>>, step: Step) {
        let (requests, permits) = (self.requests.len().max(1), self.permits.len().max(1));
        match step {
            Step::Request { party, amount, rank } => {
                let fair = fair.clone();
                let request = Request { amount, rank, queueing: Queueing::Bounded };
                self.requests.push(Box::pin(async move { fair.acquire(&party, request, soon()).await }));
                self.poll(self.requests.len() - 1);
            }
            Step::Poll(at) if !self.requests.is_empty() => self.poll(at % requests),
            Step::Cancel(at) if !self.requests.is_empty() => drop(self.requests.remove(at % requests)),
            Step::Return(at) if !self.permits.is_empty() => drop(self.permits.remove(at % permits)),
            Step::Shrink(at, amount) if !self.permits.is_empty() => self.permits[at % permits].shrink_to(amount),
            Step::Grow(at, amount) if !self.permits.is_empty() => {
                self.permits[at % permits].grow_to(amount);
            }
            Step::Pass(ms) => tokio::time::advance(Duration::from_millis(ms)).await,
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// After each step everything that fits is granted and debts are bounded. In the end nothing is left.
    #[test]
    fn no_wake_up_is_missed_after_cancellations(steps in prop::collection::vec(step(), 1..200)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let fair = Fair::new(Bounds { capacity: 10, share: 6, waiting_max: 20, waiting_each_max: 10 });
        runtime.block_on(async {
            let mut world = World::default();
            for step in steps {
                world.perform(&fair, step).await;
                tokio::task::yield_now().await;
                fair.state.lock().check(&fair.bounds);
            }
        });
        assert!(fair.state.lock().is_empty());
    }
}
