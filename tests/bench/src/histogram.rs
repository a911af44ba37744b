//! Histogram of latencies in microseconds, with buckets that are at most 1.6 % wide.
//!
//! Owns counting and percentiles. It reads no clock. Recording takes a few instructions. Merging adds the counts.

/// Values below this number are exact. Above it, each power of two is divided into this many buckets.
const PER_OCTAVE: u64 = 64;

#[derive(Clone, Debug, Default)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max_us: u64,
}

impl Histogram {
    pub fn record(&mut self, us: u64) {
        let bucket = bucket_of(us);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
        self.count += 1;
        self.max_us = self.max_us.max(us);
    }

    pub fn merge(&mut self, other: &Histogram) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (count, added) in self.buckets.iter_mut().zip(&other.buckets) {
            *count += added;
        }
        self.count += other.count;
        self.max_us = self.max_us.max(other.max_us);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn max_us(&self) -> u64 {
        self.max_us
    }

    /// Returns a bound that `percent` of all values do not exceed: the upper edge of a bucket or the maximum, whichever
    /// is lower. Returns 0 without values.
    pub fn percentile_us(&self, percent: f64) -> u64 {
        let rank = (self.count as f64 * percent / 100.0).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank.max(1) {
                return upper_edge(bucket as u64).min(self.max_us);
            }
        }
        self.max_us
    }
}

fn bucket_of(us: u64) -> usize {
    if us < PER_OCTAVE {
        return us as usize;
    }
    let shift = u64::from(us.ilog2()) - u64::from(PER_OCTAVE.ilog2());
    (shift * PER_OCTAVE + (us >> shift)) as usize
}

fn upper_edge(bucket: u64) -> u64 {
    if bucket < 2 * PER_OCTAVE {
        return bucket;
    }
    let shift = bucket / PER_OCTAVE - 1;
    let step = bucket % PER_OCTAVE + PER_OCTAVE;
    ((step + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_exact() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|us| histogram.record(us));
        assert_eq!(histogram.percentile_us(50.0), 50);
        assert_eq!(histogram.percentile_us(99.0), 99);
        assert_eq!(histogram.max_us(), 100);
    }

    #[test]
    fn large_values_are_within_two_percent() {
        for us in [1_000_u64, 12_345, 999_999, 30_000_000] {
            let edge = upper_edge(bucket_of(us) as u64);
            assert!(edge >= us && edge - us <= us / 50, "{us} became {edge}");
        }
    }

    #[test]
    fn merged_histograms_equal_one_histogram_of_all_values() {
        let (mut whole, mut left, mut right) = (Histogram::default(), Histogram::default(), Histogram::default());
        for us in 0..5_000 {
            whole.record(us);
            if us % 2 == 0 { left.record(us) } else { right.record(us) }
        }
        left.merge(&right);
        assert_eq!(whole.percentile_us(99.0), left.percentile_us(99.0));
        assert_eq!(whole.count(), left.count());
    }
}
