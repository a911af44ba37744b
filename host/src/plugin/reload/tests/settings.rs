//! Changes of `plugins.toml` while the host runs.

use super::*;

#[tokio::test]
async fn plugins_toml_changes_grants_adds_and_removes_plugins() {
    let place = Place::new();
    place.write(&Guest::notes("0.1.0").importing("tenon:plugin/log@0.1.0").build());
    let host = place.start().await;
    assert_eq!(host.serves(), Vec::<String>::new());

    // Granted, it gets past its inspection: the linker of this test offers nothing.
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().grants.push("log".into()));
    let status = host.reloader.reload_all().await.unwrap();
    assert!(status[0].reasons[0].contains("does not fit the contract"), "{:?}", status[0].reasons);

    host.put(&notes("0.1.0")).await;
    let mut things = guest::manifest("0.5.0");
    things["name"] = json!("things");
    fs::write(host.folder.join("things.wasm"), Guest::saying(things.to_string()).build()).unwrap();
    host.set_config(|plugins| {
        plugins.insert("things".into(), place.config("things.wasm"));
    });
    let status = host.reloader.reload_all().await.unwrap();
    assert!(status[1].reasons[0].contains("two plugins serve /v1/notes"), "{status:?}");

    host.set_config(|plugins| drop(plugins.remove("notes")));
    assert_eq!(host.reloader.reload_all().await.unwrap().len(), 1);
    let removal = host.lines.0.lock().iter().find(|line| line.action == SwapAction::Remove).cloned().unwrap();
    assert_eq!(removal.who, "plugins.toml");
    assert_eq!(host.serves(), Vec::<String>::new());
}

#[tokio::test]
async fn changed_limits_make_a_new_generation_of_the_same_bytes() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.calls = 3);
    host.reloader.reload_all().await.unwrap();
    let table = host.registry.current();
    assert_eq!((table[0].config.limits.calls, table[0].facts.generation), (3, 2));
    assert!(host.reloader.status().await[0].parked.is_none(), "the same component is no way back");

    *host.plugins.lock() = Err(vec!["line 3: no".into()]);
    assert!(host.reloader.reload_all().await.unwrap_err().to_string().contains("line 3"));
    assert_eq!(host.registry.current()[0].facts.generation, 2);
}

#[tokio::test]
async fn settings_and_a_file_that_are_both_refused_come_to_rest() {
    let place = Place::new();
    place.write(&notes("0.1.1"));
    let host = place.start().await;
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.component_bytes = 8);
    let status = host.put(&notes("0.1.2")).await;
    assert_eq!(host.serves(), ["0.1.1"]);
    assert!(status.reasons[0].contains("refused (file"), "{:?}", status.reasons);
    assert!(host.journal().contains(&(SwapAction::Config, SwapOutcome::Refused)), "{:?}", host.journal());
}
