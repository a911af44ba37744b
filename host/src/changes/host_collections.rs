//! The collections that the host declares for every plugin. Their records are stored like those of a plugin, but no
//! plugin reaches them through `records`.

/// Endpoints of webhooks.
pub const ENDPOINTS: &str = "host-endpoints";
/// Timers whose task has not completed yet, including those that the host has given up.
pub const TASKS: &str = "host-tasks";
/// Outgoing calls that follow a commit.
pub const EFFECTS: &str = "host-effects";
/// Servers that a tenant has configured.
pub const DESTINATIONS: &str = "host-destinations";
/// Watched addresses, followed transactions and seen transfers of blockchains.
pub const CHAIN_NOTES: &str = "host-chains";

/// The field of an effect that holds the name of its destination.
pub const EFFECT_DESTINATION: &str = "call.destination";

/// Each collection with its indexed fields.
pub const HOST_COLLECTIONS: [(&str, &[&str]); 5] = [
    (ENDPOINTS, &[]),
    (TASKS, &["due"]),
    (EFFECTS, &[EFFECT_DESTINATION, "due"]),
    (DESTINATIONS, &[]),
    (CHAIN_NOTES, &[]),
];

/// Prefix of the names of all host collections. No plugin may declare a name with this prefix.
pub const HOST_PREFIX: &str = "host-";

/// Returns true if `name` is the name of a host collection.
pub fn is_host_collection(name: &str) -> bool {
    name.starts_with(HOST_PREFIX)
}
