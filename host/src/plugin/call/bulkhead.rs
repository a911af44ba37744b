//! How many calls of one plugin run at the same time, and how many may wait: one plugin's rush is its own.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout_at},
};

use crate::failure::Failure;

/// Seats for running calls, and a bounded queue in front of them.
pub struct Bulkhead {
    seats: Semaphore,
    waiting: AtomicUsize,
    queue_max: usize,
}

impl Bulkhead {
    /// `seats`: calls that run at once; `queue_max`: calls that wait for one of them.
    pub fn new(seats: usize, queue_max: usize) -> Bulkhead {
        Bulkhead { seats: Semaphore::new(seats), waiting: AtomicUsize::new(0), queue_max }
    }

    /// Waits in the queue until the deadline. `Unavailable` where the queue is full already.
    pub async fn take_seat(&self, deadline: Instant) -> Result<SemaphorePermit<'_>, Failure> {
        if let Ok(seat) = self.seats.try_acquire() {
            return Ok(seat);
        }
        let _place = Place::take(self)?;
        self.await_seat(deadline).await
    }

    /// Waits outside of the queue's bound: for a call that had a seat before.
    pub async fn await_seat(&self, deadline: Instant) -> Result<SemaphorePermit<'_>, Failure> {
        match timeout_at(deadline, self.seats.acquire()).await {
            Ok(Ok(seat)) => Ok(seat),
            Ok(Err(_closed)) => Err(Failure::Unavailable),
            Err(_) => Err(Failure::DeadlineExceeded),
        }
    }
}

/// A place in the queue; given back when dropped, also when the caller goes away.
struct Place<'a>(&'a Bulkhead);

impl<'a> Place<'a> {
    fn take(bulkhead: &'a Bulkhead) -> Result<Place<'a>, Failure> {
        let place = Place(bulkhead);
        if bulkhead.waiting.fetch_add(1, Ordering::AcqRel) < bulkhead.queue_max {
            Ok(place)
        } else {
            Err(Failure::Unavailable)
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[tokio::test]
    async fn a_full_queue_refuses_at_once_and_a_free_seat_goes_to_the_first_in_line() {
        let bulkhead = Bulkhead::new(1, 1);
        let seat = bulkhead.take_seat(soon()).await.ok().unwrap();
        let mut first = Box::pin(bulkhead.take_seat(soon()));
        assert!((&mut first).now_or_never().is_none());
        assert_eq!(bulkhead.take_seat(soon()).await.err(), Some(Failure::Unavailable));
        drop(seat);
        assert!(first.await.is_ok());
    }

    #[tokio::test]
    async fn who_waits_past_its_deadline_leaves_the_queue() {
        let bulkhead = Bulkhead::new(1, 1);
        let _seat = bulkhead.take_seat(soon()).await.ok().unwrap();
        assert_eq!(bulkhead.take_seat(Instant::now()).await.err(), Some(Failure::DeadlineExceeded));
        assert!(bulkhead.take_seat(soon()).now_or_never().is_none());
    }
}
