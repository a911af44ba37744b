//! Changes of `plugins.toml` while the host runs.

use super::*;

#[tokio::test]
async fn plugins_toml_changes_grants_adds_and_removes_plugins() {
    let fixture = Fixture::new();
    fixture.write(&Guest::notes("0.1.0").with_import("tenon:plugin/log@0.1.0").build());
    let host = fixture.start().await;
    assert_eq!(host.serves(), Vec::<String>::new());

    // With the grant it passes the inspection. The linker of this test provides no interface.
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().grants.push("log".into()));
    let status = host.reloader.reload_all().await.unwrap();
    assert!(status[0].reasons[0].contains("does not fit the contract"), "{:?}", status[0].reasons);

    host.put(&notes("0.1.0")).await;
    let mut things = guest::manifest("0.5.0");
    things["name"] = json!("things");
    fs::write(host.folder.join("things.wasm"), Guest::with_manifest(things.to_string()).build()).unwrap();
    host.set_config(|plugins| {
        plugins.insert("things".into(), fixture.config("things.wasm"));
    });
    let status = host.reloader.reload_all().await.unwrap();
    assert!(status[1].reasons[0].contains("two plugins serve /v1/notes"), "{status:?}");

    host.set_config(|plugins| drop(plugins.remove("notes")));
    assert_eq!(host.reloader.reload_all().await.unwrap().len(), 1);
    let removal = host.lines.0.lock().iter().find(|line| line.action == SwapAction::Remove).cloned().unwrap();
    assert_eq!(removal.actor, "plugins.toml");
    assert_eq!(host.serves(), Vec::<String>::new());
}

#[tokio::test]
async fn changed_limits_create_a_new_generation_of_the_same_bytes() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.calls = 3);
    host.reloader.reload_all().await.unwrap();
    let table = host.registry.current();
    assert_eq!((table[0].config.limits.calls, table[0].facts.generation), (3, 2));
    assert!(host.reloader.status().await[0].parked.is_none(), "the same component is no target of a rollback");

    *host.plugins.lock() = Err(vec!["line 3: no".into()]);
    assert!(host.reloader.reload_all().await.unwrap_err().to_string().contains("line 3"));
    assert_eq!(host.registry.current()[0].facts.generation, 2);
}

#[tokio::test]
async fn components_beyond_the_number_to_keep_are_deleted_after_a_deploy() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    for patch in 1..=4 {
        host.deploy(notes(&format!("0.1.{patch}")), AllowedChanges::COMPATIBLE).await.unwrap();
    }
    let stored = || fs::read_dir(host.folder.join("data/components")).unwrap().count();
    assert_eq!(stored(), 5);
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.components_kept = 3);
    host.settle().await;
    host.deploy(notes("0.1.5"), AllowedChanges::COMPATIBLE).await.unwrap();
    host.settle().await;
    assert_eq!(stored(), 3);
    host.reloader.rollback("notes", "operator", None).await.unwrap();
    assert_eq!(host.serves(), ["0.1.4"]);
}

#[tokio::test]
async fn refused_settings_with_a_refused_file_are_not_retried_forever() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.1"));
    let host = fixture.start().await;
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.component_bytes = 8);
    let status = host.put(&notes("0.1.2")).await;
    assert_eq!(host.serves(), ["0.1.1"]);
    assert!(status.reasons[0].contains("refused (file"), "{:?}", status.reasons);
    assert!(host.journal().contains(&(SwapAction::Config, SwapOutcome::Refused)), "{:?}", host.journal());
}
