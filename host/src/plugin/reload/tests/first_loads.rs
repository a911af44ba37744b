//! The first loads after a start: which components serve, and in which order.

use super::*;

/// Returns a fixture in which "notes" and "things" served, and the file of "notes" also declares the route of "things".
async fn with_a_file_that_takes_another_route() -> Fixture {
    let fixture = Fixture::new();
    let things = fixture.folder.path().join("things.wasm");
    replace(&things, &plugin("things", "0.5.0", &["/v1/things"]));
    fixture.write(&plugin("notes", "0.1.0", &["/v1/notes"]));
    let host = fixture.begin(&["notes", "things"]);
    host.reloader.wait_for_first_loads().await;
    assert_eq!(host.serves(), ["0.1.0", "0.5.0"]);
    let status = host.put(&plugin("notes", "0.1.1", &["/v1/notes", "/v1/things"])).await;
    assert!(status.reasons[0].contains("two plugins serve /v1/things"), "{:?}", status.reasons);
    host.reloader.shutdown().await;
    fixture
}

/// Restarts with a slow plugin. It continues once the newest version of the other plugin is prepared and could be
/// published.
async fn restart(fixture: &Fixture, slow: &str) -> Host {
    fixture.data.prepared.lock().clear();
    fixture.data.slow.send_replace(Some(slow.into()));
    let host = fixture.begin(&["notes", "things"]);
    let awaited = if slow == "notes" { "0.5.0" } else { "0.1.1" };
    tokio::time::timeout(Duration::from_secs(60), async {
        while !fixture.data.prepared.lock().iter().any(|version| version == awaited) {
            host.reloader.status().await;
        }
    })
    .await
    .unwrap();
    for _ in 0..1_000 {
        host.reloader.status().await;
    }
    fixture.data.slow.send_replace(None);
    host.reloader.wait_for_first_loads().await;
    host.settle().await;
    host
}

fn reasons(status: &[PluginStatus], plugin: &str) -> String {
    status.iter().find(|status| &*status.name == plugin).unwrap().reasons.join("; ")
}

#[tokio::test]
async fn plugin_that_is_ready_serves_while_another_one_loads() {
    let fixture = Fixture::new();
    replace(&fixture.folder.path().join("things.wasm"), &plugin("things", "0.5.0", &["/v1/things"]));
    fixture.write(&notes("0.1.0"));
    fixture.data.slow.send_replace(Some("notes".into()));
    let host = fixture.begin(&["notes", "things"]);
    let things_serves = async {
        while host.serves() != ["0.5.0"] {
            host.reloader.status().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), things_serves).await.unwrap();
    let status = host.reloader.status().await;
    let notes = status.iter().find(|status| &*status.name == "notes").unwrap();
    assert_eq!(notes.state, PluginState::Preparing);
    fixture.data.slow.send_replace(None);
    host.reloader.wait_for_first_loads().await;
    assert_eq!(host.serves(), ["0.1.0", "0.5.0"]);
}

#[tokio::test]
async fn refused_file_takes_no_route_of_a_plugin_that_loads_later() {
    let fixture = with_a_file_that_takes_another_route().await;
    for slow in ["things", "notes"] {
        let host = restart(&fixture, slow).await;
        assert_eq!(host.serves(), ["0.1.0", "0.5.0"], "{slow} is slow");
        let status = host.reloader.status().await;
        assert!(reasons(&status, "notes").contains("two plugins serve /v1/things"), "{status:?}");
        assert_eq!(reasons(&status, "things"), "");
        host.reloader.shutdown().await;
    }
}

#[tokio::test]
async fn file_of_a_plugin_without_journal_takes_no_route_of_a_plugin_that_loads_later() {
    let fixture = with_a_file_that_takes_another_route().await;
    fixture.lines.0.lock().retain(|line| &*line.plugin != "notes");
    let host = restart(&fixture, "things").await;
    assert_eq!(host.serves(), ["0.5.0"]);
    assert!(reasons(&host.reloader.status().await, "notes").contains("two plugins serve /v1/things"));
}

#[tokio::test]
async fn file_replaces_a_journaled_component_that_is_lost_before_other_files_take_its_routes() {
    let fixture = with_a_file_that_takes_another_route().await;
    fs::remove_dir_all(fixture.folder.path().join("data/components")).unwrap();
    fixture.lines.0.lock().retain(|line| &*line.plugin != "notes");
    let host = restart(&fixture, "things").await;
    assert_eq!(host.serves(), ["0.5.0"]);
}

#[tokio::test]
async fn deploy_during_a_start_does_not_replace_the_journaled_component_unless_it_is_published() {
    let fixture = Fixture::new();
    swapped(&fixture).await.reloader.shutdown().await;
    fixture.data.slow.send_replace(Some("notes".into()));
    let host = fixture.begin(&["notes"]);
    let deploy = async {
        let deploy = host.deploy(b"broken".to_vec(), AllowedChanges::COMPATIBLE);
        let release = async {
            host.reloader.status().await;
            fixture.data.slow.send_replace(None);
        };
        tokio::join!(deploy, release).0
    };
    assert!(deploy.await.unwrap_err().to_string().contains("is not WebAssembly"));
    assert_eq!(host.serves(), ["0.1.1"]);
}

#[tokio::test]
async fn settings_that_change_during_a_start_apply_to_the_journaled_component() {
    let fixture = Fixture::new();
    swapped(&fixture).await.reloader.shutdown().await;
    fixture.data.slow.send_replace(Some("notes".into()));
    let host = fixture.begin(&["notes"]);
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.calls = 3);
    let release = async {
        host.reloader.status().await;
        fixture.data.slow.send_replace(None);
    };
    tokio::join!(host.reloader.reload_all(), release).0.unwrap();
    assert_eq!((host.serves(), host.registry.current()[0].config.limits.calls), (vec!["0.1.1".to_owned()], 3));
}

#[tokio::test]
async fn component_file_that_is_a_fifo_delays_no_plugin_and_can_be_replaced() {
    let fixture = Fixture::new();
    let things = fixture.folder.path().join("things.wasm");
    crate::regular_file::make_fifo(&things);
    fixture.write(&notes("0.1.0"));
    let host = fixture.begin(&["notes", "things"]);
    tokio::time::timeout(Duration::from_secs(60), host.reloader.wait_for_first_loads()).await.unwrap();
    assert_eq!(host.serves(), ["0.1.0"]);
    assert!(reasons(&host.reloader.status().await, "things").ends_with("not a regular file"));
    replace(&things, &plugin("things", "0.5.0", &["/v1/things"]));
    host.settle().await;
    assert_eq!(host.serves(), ["0.1.0", "0.5.0"]);
}

#[tokio::test]
async fn first_load_that_never_ends_is_no_longer_awaited() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    fixture.data.slow.send_replace(Some("notes".into()));
    let host = fixture.begin(&["notes"]);
    while fixture.data.prepared.lock().is_empty() {
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    host.reloader.wait_for_first_loads().await;
    assert_eq!(host.reloader.status().await[0].state, PluginState::Preparing);
}
