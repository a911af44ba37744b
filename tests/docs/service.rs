//! The systemd unit provides the stop time and the open files that the default settings of the host need.

use tenon::{config::keys, limits};

#[test]
fn unit_provides_the_stop_time_and_descriptors_that_the_defaults_need() {
    let unit = super::read("docs/systemd/tenon.service");
    let number = |name: &str| {
        let value = unit.lines().find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok());
        value.unwrap_or_else(|| panic!("{name} is not in the unit"))
    };
    assert!(number("TimeoutStopSec=") * 1_000 > keys::SHUTDOWN.default);
    let calls = limits::FIRST_IN_FLIGHT_MAX + limits::RETRIES_IN_FLIGHT_MAX + limits::OUTBOUND_IDLE_MAX;
    assert!(number("LimitNOFILE=") > limits::CONNECTIONS_DEFAULT_MAX + calls as u64 + 1_000);
}
