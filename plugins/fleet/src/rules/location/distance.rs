//! How far it is, how long it takes, who is near: along the straight line, without any outside service. Metres and
//! seconds.

use super::Position;
use crate::rules::invalid::Invalid;

/// The mean radius of the earth.
const EARTH_RADIUS_M: f64 = 6_371_000.0;
/// Roads are longer than the straight line: about a third, in towns.
const DETOUR: f64 = 1.3;
/// What traffic in a town comes to (research/fleet 1.1.3).
pub const SPEED_KMH: f64 = 35.0;

/// Of a search for who is near.
pub const RADIUS_M: f64 = 6_000.0;
pub const RADIUS_M_MAX: f64 = 100_000.0;
/// Parts of a radius: each ring has sixteen times the area of the one within.
const RINGS: [f64; 4] = [64.0, 16.0, 4.0, 1.0];

/// A way that nobody has measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    pub distance_m: f64,
    pub duration_s: f64,
}

/// Along the surface.
pub fn straight_m(from: Position, to: Position) -> f64 {
    let (from_lat, to_lat) = (from.latitude().to_radians(), to.latitude().to_radians());
    let half_lat = ((to_lat - from_lat) / 2.0).sin();
    let half_lon = ((to.longitude() - from.longitude()).to_radians() / 2.0).sin();
    let chord = half_lat * half_lat + from_lat.cos() * to_lat.cos() * half_lon * half_lon;
    // Rounding may bring it a hair above one.
    2.0 * EARTH_RADIUS_M * chord.sqrt().min(1.0).asin()
}

/// By road, from one to the other.
pub fn estimate(from: Position, to: Position) -> Estimate {
    let distance_m = straight_m(from, to) * DETOUR;
    Estimate { distance_m, duration_s: distance_m / (SPEED_KMH / 3.6) }
}

/// By road, from each to the next; nothing for fewer than two.
pub fn estimate_tour(stops: &[Position]) -> Estimate {
    let legs = stops.iter().zip(stops.iter().skip(1)).map(|(from, to)| estimate(*from, *to));
    legs.fold(Estimate::default(), |sum, leg| Estimate {
        distance_m: sum.distance_m + leg.distance_m,
        duration_s: sum.duration_s + leg.duration_s,
    })
}

/// A search around a place. Invariant: the radius is finite, above zero and bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearby {
    pub around: Position,
    pub radius_m: f64,
}

impl Nearby {
    pub fn new(around: Position, radius_m: Option<f64>) -> Result<Nearby, Invalid> {
        let radius_m = radius_m.unwrap_or(RADIUS_M);
        if radius_m > 0.0 && radius_m <= RADIUS_M_MAX {
            return Ok(Nearby { around, radius_m });
        }
        Err(Invalid::OutOfRange { field: "radius", least: 1.0, most: RADIUS_M_MAX })
    }

    /// The same around from near to far, the last as far as it goes: whoever needs only some looks no further than them.
    pub fn rings(self) -> impl Iterator<Item = Nearby> {
        RINGS.into_iter().map(move |part| Nearby { radius_m: self.radius_m / part, ..self })
    }

    /// Metres to there; `None`: out of reach.
    pub fn reach_m(&self, position: Position) -> Option<f64> {
        Some(straight_m(self.around, position)).filter(|metres| *metres <= self.radius_m)
    }

    /// The nearest first, those at one distance as they came; at most `limit`.
    pub fn find<T>(&self, candidates: impl IntoIterator<Item = (T, Position)>, limit: usize) -> Vec<(T, f64)> {
        let candidates = candidates.into_iter();
        let mut near: Vec<(T, f64)> =
            candidates.filter_map(|(one, position)| Some((one, self.reach_m(position)?))).collect();
        near.sort_by(|(_, left), (_, right)| left.total_cmp(right));
        near.truncate(limit);
        near
    }

    /// Latitudes outside of which nobody is near, so that an index can narrow the search: the least, the most.
    pub fn latitudes(&self) -> (f64, f64) {
        // A hair more than a circle needs, for what rounding takes.
        let degrees = (self.radius_m / EARTH_RADIUS_M).to_degrees() * 1.000_001;
        ((self.around.latitude() - degrees).max(-90.0), (self.around.latitude() + degrees).min(90.0))
    }

    /// The same of longitudes; `None` where no range of them narrows anything: around a pole, across the date line.
    pub fn longitudes(&self) -> Option<(f64, f64)> {
        let angle = self.radius_m / EARTH_RADIUS_M;
        // Of the meridians that touch the circle; beyond one the circle holds the pole.
        let ratio = angle.sin() / self.around.latitude().to_radians().cos();
        if ratio >= 1.0 {
            return None;
        }
        let degrees = ratio.asin().to_degrees() * 1.000_001 + 1e-9;
        let (least, most) = (self.around.longitude() - degrees, self.around.longitude() + degrees);
        (least >= -180.0 && most <= 180.0).then_some((least, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(latitude: f64, longitude: f64) -> Position {
        Position::new(latitude, longitude).unwrap()
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= expected * 0.005 + 0.001, "{found} is not about {expected}");
    }

    #[test]
    fn known_distances_come_out() {
        close(straight_m(at(51.5074, -0.1278), at(48.8566, 2.3522)), 343_500.0);
        close(straight_m(at(0.0, 0.0), at(0.0, 1.0)), 111_195.0);
        close(straight_m(at(0.0, 179.5), at(0.0, -179.5)), 111_195.0);
        close(straight_m(at(90.0, 0.0), at(-90.0, 0.0)), 20_015_087.0);
        assert_eq!(straight_m(at(1.3, 103.8), at(1.3, 103.8)), 0.0);
    }

    #[test]
    fn a_tour_is_as_long_as_its_legs() {
        let stops = [at(1.30, 103.80), at(1.31, 103.80), at(1.30, 103.80)];
        let there = estimate(stops[0], stops[1]);
        let tour = estimate_tour(&stops);
        close(tour.distance_m, 2.0 * there.distance_m);
        close(there.distance_m, 1_112.0 * 1.3);
        close(there.duration_s, there.distance_m * 3.6 / 35.0);
        assert_eq!(estimate_tour(&stops[..1]), Estimate::default());
        assert_eq!(estimate_tour(&[]), Estimate::default());
    }

    #[test]
    fn those_nearby_are_found_nearest_first() {
        let search = Nearby::new(at(1.30, 103.80), None).unwrap();
        let drivers = [
            ("far", at(1.40, 103.80)),
            ("near", at(1.31, 103.80)),
            ("here", at(1.30, 103.80)),
            ("also", at(1.31, 103.80)),
        ];
        let names = |limit| search.find(drivers, limit).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(10), ["here", "near", "also"]);
        assert_eq!(names(1), ["here"]);
    }

    #[test]
    fn rings_grow_to_the_whole() {
        let whole = Nearby::new(at(1.30, 103.80), Some(6_400.0)).unwrap();
        let radii: Vec<f64> = whole.rings().map(|ring| ring.radius_m).collect();
        assert_eq!(radii, [100.0, 400.0, 1_600.0, 6_400.0]);
        assert_eq!(whole.rings().last(), Some(whole));
        assert_eq!(whole.rings().next().and_then(|ring| ring.reach_m(at(1.31, 103.80))), None);
        close(whole.reach_m(at(1.31, 103.80)).unwrap(), 1_112.0);
    }

    #[test]
    fn a_radius_has_bounds() {
        let here = at(0.0, 0.0);
        for radius in [0.0, -1.0, RADIUS_M_MAX + 1.0, f64::NAN, f64::INFINITY] {
            assert!(Nearby::new(here, Some(radius)).is_err(), "{radius}");
        }
        assert_eq!(Nearby::new(here, None).unwrap().radius_m, RADIUS_M);
    }

    #[test]
    fn no_longitudes_narrow_a_search_around_a_pole_or_the_date_line() {
        let search = |latitude, longitude| Nearby::new(at(latitude, longitude), None).unwrap().longitudes();
        assert_eq!([search(90.0, 0.0), search(-89.99, 10.0), search(0.0, 179.99), search(0.0, -180.0)], [None; 4]);
        let (least, most) = search(60.0, 10.0).unwrap();
        close(most - least, 4.0 * 0.05396);
        assert!(least > 9.8 && most < 10.2);
    }

    proptest! {
        #[test]
        fn it_is_as_far_there_as_back(a in (-90.0..=90.0, -180.0..=180.0), b in (-90.0..=90.0, -180.0..=180.0)) {
            let (a, b) = (at(a.0, a.1), at(b.0, b.1));
            let metres = straight_m(a, b);
            prop_assert!((0.0..=20_015_100.0).contains(&metres));
            prop_assert!((metres - straight_m(b, a)).abs() < 0.01);
        }

        #[test]
        fn nobody_near_is_outside_the_longitudes(lat in -90.0..=90.0_f64, lon in -180.0..=180.0_f64, radius in 1.0..=RADIUS_M_MAX, away in (-2.0..=2.0_f64, -20.0..=20.0_f64)) {
            let search = Nearby::new(at(lat, lon), Some(radius)).unwrap();
            let Some((least, most)) = search.longitudes() else { return Ok(()) };
            let other = at((lat + away.0).clamp(-90.0, 90.0), (lon + away.1).clamp(-180.0, 180.0));
            if straight_m(search.around, other) <= radius {
                prop_assert!((least..=most).contains(&other.longitude()));
            }
        }

        #[test]
        fn nobody_near_is_outside_the_latitudes(lat in -89.0..=89.0, lon in -180.0..=180.0, radius in 1.0..=RADIUS_M_MAX, other in -90.0..=90.0) {
            let search = Nearby::new(at(lat, lon), Some(radius)).unwrap();
            let (least, most) = search.latitudes();
            if straight_m(search.around, at(other, lon)) <= radius {
                prop_assert!((least..=most).contains(&other));
            }
        }
    }
}
