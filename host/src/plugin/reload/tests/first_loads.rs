//! The first loads after a start: which components serve, and in which order.

use super::*;

/// A place where "notes" and "things" served, and the file of "notes" also declares the route of "things".
async fn with_a_file_that_takes_another_route() -> Place {
    let place = Place::new();
    let things = place.folder.path().join("things.wasm");
    replace(&things, &plugin("things", "0.5.0", &["/v1/things"]));
    place.write(&plugin("notes", "0.1.0", &["/v1/notes"]));
    let host = place.begin(&["notes", "things"]);
    host.reloader.wait_for_first_loads().await;
    assert_eq!(host.serves(), ["0.1.0", "0.5.0"]);
    let status = host.put(&plugin("notes", "0.1.1", &["/v1/notes", "/v1/things"])).await;
    assert!(status.reasons[0].contains("two plugins serve /v1/things"), "{:?}", status.reasons);
    host.reloader.shutdown().await;
    place
}

/// Restarts with a slow plugin, and lets it go on once the file of "notes" is prepared and could be published.
async fn restart(place: &Place, slow: &str) -> Host {
    place.data.prepared.lock().clear();
    place.data.slow.send_replace(Some(slow.into()));
    let host = place.begin(&["notes", "things"]);
    let awaited = if slow == "notes" { "0.5.0" } else { "0.1.1" };
    tokio::time::timeout(Duration::from_secs(60), async {
        while !place.data.prepared.lock().iter().any(|version| version == awaited) {
            host.reloader.status().await;
        }
    })
    .await
    .unwrap();
    for _ in 0..1_000 {
        host.reloader.status().await;
    }
    place.data.slow.send_replace(None);
    host.reloader.wait_for_first_loads().await;
    host.settle().await;
    host
}

fn reasons(status: &[PluginStatus], plugin: &str) -> String {
    status.iter().find(|status| &*status.name == plugin).unwrap().reasons.join("; ")
}

#[tokio::test]
async fn plugin_that_is_ready_serves_while_another_one_loads() {
    let place = Place::new();
    replace(&place.folder.path().join("things.wasm"), &plugin("things", "0.5.0", &["/v1/things"]));
    place.write(&notes("0.1.0"));
    place.data.slow.send_replace(Some("notes".into()));
    let host = place.begin(&["notes", "things"]);
    let things_serves = async {
        while host.serves() != ["0.5.0"] {
            host.reloader.status().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), things_serves).await.unwrap();
    let status = host.reloader.status().await;
    let notes = status.iter().find(|status| &*status.name == "notes").unwrap();
    assert_eq!(notes.state, PluginState::Preparing);
    place.data.slow.send_replace(None);
    host.reloader.wait_for_first_loads().await;
    assert_eq!(host.serves(), ["0.1.0", "0.5.0"]);
}

#[tokio::test]
async fn refused_file_takes_no_route_of_a_plugin_that_loads_later() {
    let place = with_a_file_that_takes_another_route().await;
    for slow in ["things", "notes"] {
        let host = restart(&place, slow).await;
        assert_eq!(host.serves(), ["0.1.0", "0.5.0"], "{slow} is slow");
        let status = host.reloader.status().await;
        assert!(reasons(&status, "notes").contains("two plugins serve /v1/things"), "{status:?}");
        assert_eq!(reasons(&status, "things"), "");
        host.reloader.shutdown().await;
    }
}

#[tokio::test]
async fn file_of_a_plugin_without_journal_takes_no_route_of_a_plugin_that_loads_later() {
    let place = with_a_file_that_takes_another_route().await;
    place.lines.0.lock().retain(|line| &*line.plugin != "notes");
    let host = restart(&place, "things").await;
    assert_eq!(host.serves(), ["0.5.0"]);
    assert!(reasons(&host.reloader.status().await, "notes").contains("two plugins serve /v1/things"));
}

#[tokio::test]
async fn file_replaces_a_journaled_component_that_is_lost_before_other_files_take_its_routes() {
    let place = with_a_file_that_takes_another_route().await;
    fs::remove_dir_all(place.folder.path().join("data/components")).unwrap();
    place.lines.0.lock().retain(|line| &*line.plugin != "notes");
    let host = restart(&place, "things").await;
    assert_eq!(host.serves(), ["0.5.0"]);
}

#[tokio::test]
async fn deploy_during_a_start_does_not_replace_the_journaled_component_unless_it_is_published() {
    let place = Place::new();
    swapped(&place).await.reloader.shutdown().await;
    place.data.slow.send_replace(Some("notes".into()));
    let host = place.begin(&["notes"]);
    let deploy = async {
        let deploy = host.deploy(b"broken".to_vec(), Passing::COMPATIBLE);
        let release = async {
            host.reloader.status().await;
            place.data.slow.send_replace(None);
        };
        tokio::join!(deploy, release).0
    };
    assert!(deploy.await.unwrap_err().to_string().contains("is not WebAssembly"));
    assert_eq!(host.serves(), ["0.1.1"]);
}

#[tokio::test]
async fn settings_that_change_during_a_start_apply_to_the_journaled_component() {
    let place = Place::new();
    swapped(&place).await.reloader.shutdown().await;
    place.data.slow.send_replace(Some("notes".into()));
    let host = place.begin(&["notes"]);
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.calls = 3);
    let release = async {
        host.reloader.status().await;
        place.data.slow.send_replace(None);
    };
    tokio::join!(host.reloader.reload_all(), release).0.unwrap();
    assert_eq!((host.serves(), host.registry.current()[0].config.limits.calls), (vec!["0.1.1".to_owned()], 3));
}

#[tokio::test]
async fn component_file_that_is_a_fifo_delays_nobody_and_can_be_replaced() {
    let place = Place::new();
    let things = place.folder.path().join("things.wasm");
    crate::regular_file::make_fifo(&things);
    place.write(&notes("0.1.0"));
    let host = place.begin(&["notes", "things"]);
    tokio::time::timeout(Duration::from_secs(60), host.reloader.wait_for_first_loads()).await.unwrap();
    assert_eq!(host.serves(), ["0.1.0"]);
    assert!(reasons(&host.reloader.status().await, "things").ends_with("not a regular file"));
    replace(&things, &plugin("things", "0.5.0", &["/v1/things"]));
    host.settle().await;
    assert_eq!(host.serves(), ["0.1.0", "0.5.0"]);
}

#[tokio::test]
async fn first_load_without_an_end_is_no_longer_awaited() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    place.data.slow.send_replace(Some("notes".into()));
    let host = place.begin(&["notes"]);
    while place.data.prepared.lock().is_empty() {
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    host.reloader.wait_for_first_loads().await;
    assert_eq!(host.reloader.status().await[0].state, PluginState::Preparing);
}
