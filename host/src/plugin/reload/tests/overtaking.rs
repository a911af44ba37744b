//! Changes of one plugin that arrive while another one is prepared.

use super::*;

#[tokio::test]
async fn newer_deploy_overtakes_one_that_is_being_prepared() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    let (first, second) = tokio::join!(
        host.deploy(notes("0.1.1"), AllowedChanges::COMPATIBLE),
        host.deploy(notes("0.1.2"), AllowedChanges::COMPATIBLE),
    );
    assert_eq!(first.unwrap_err().to_string(), "a newer change of the same plugin overtook this one");
    assert_eq!((second.unwrap().to.version.as_str(), host.serves()), ("0.1.2", vec!["0.1.2".into()]));
}

#[tokio::test]
async fn burst_of_deploys_publishes_the_newest_and_records_every_overtaken_one() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    let deploys = (1..=100).map(|number| host.deploy(notes(&format!("0.1.{number}")), AllowedChanges::COMPATIBLE));
    let results = futures_util::future::join_all(deploys).await;
    host.settle().await;
    assert_eq!(host.serves(), ["0.1.100"]);
    let published = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(published, 2, "the one that took the place of the first, and the newest");
    let overtaken = host.journal().iter().filter(|(_, outcome)| *outcome == SwapOutcome::Overtaken).count();
    assert_eq!(overtaken, 98);
    let metrics = host.loader.metrics().render(Default::default()).unwrap();
    assert!(metrics.contains(r#"tenon_swaps_total{outcome="overtaken",plugin="notes"} 98"#), "{metrics}");
}

#[tokio::test]
async fn rollback_cancels_prepared_and_waiting_changes() {
    let fixture = Fixture::new();
    let host = swapped(&fixture).await;
    let deploy = |version: &str| host.deploy(notes(version), AllowedChanges::COMPATIBLE);
    let (first, second, third, rollback) = tokio::join!(
        deploy("0.1.2"),
        deploy("0.1.3"),
        deploy("0.1.4"),
        host.reloader.rollback("notes", "operator", None)
    );
    for overtaken in [first, second, third] {
        assert_eq!(overtaken.unwrap_err().to_string(), "a newer change of the same plugin overtook this one");
    }
    assert_eq!((rollback.unwrap().to.version.as_str(), host.serves()), ("0.1.0", vec!["0.1.0".to_owned()]));
}

#[tokio::test]
async fn waiting_deploy_serves_under_new_settings() {
    let fixture = Fixture::new();
    let host = swapped(&fixture).await;
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.calls = 3);
    let deploy = |version: &str| host.deploy(notes(version), AllowedChanges::COMPATIBLE);
    let (_, _, third, settings) =
        tokio::join!(deploy("0.1.2"), deploy("0.1.3"), deploy("0.1.4"), host.reloader.reload_all());
    assert_eq!((third.unwrap().to.version.as_str(), settings.unwrap().len()), ("0.1.4", 1));
    assert_eq!((host.serves(), host.registry.current()[0].config.limits.calls), (vec!["0.1.4".to_owned()], 3));
}

#[tokio::test]
async fn rollback_before_new_settings_serves_the_old_version_under_them() {
    let fixture = Fixture::new();
    let host = swapped(&fixture).await;
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.calls = 3);
    // The task receives both before anything is prepared, in this order.
    let (rollback, settings) =
        tokio::join!(host.reloader.rollback("notes", "operator", None), host.reloader.reload_all());
    assert_eq!((rollback.unwrap().action, settings.unwrap().len()), (SwapAction::Rollback, 1));
    assert_eq!((host.serves(), host.registry.current()[0].config.limits.calls), (vec!["0.1.0".to_owned()], 3));
    assert_eq!(
        host.journal().last(),
        Some(&(SwapAction::Rollback, SwapOutcome::Published)),
        "a single swap applied both"
    );
}

#[tokio::test]
async fn rollback_that_overtakes_new_settings_serves_the_old_version_under_them() {
    let fixture = Fixture::new();
    let host = swapped(&fixture).await;
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.calls = 3);
    let (_, rollback) = tokio::join!(host.reloader.reload_all(), host.reloader.rollback("notes", "operator", None));
    assert_eq!(rollback.unwrap().action, SwapAction::Rollback);
    assert_eq!((host.serves(), host.registry.current()[0].config.limits.calls), (vec!["0.1.0".to_owned()], 3));
}

#[tokio::test]
async fn new_settings_overtaken_by_a_refused_deploy_take_effect_after_it() {
    let fixture = Fixture::new();
    let host = swapped(&fixture).await;
    for (calls, is_first) in [(3, true), (4, false)] {
        host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.calls = calls);
        let (deploy, settings) = (host.deploy(notes("0.0.1"), AllowedChanges::COMPATIBLE), host.reloader.reload_all());
        let swap_error = if is_first { tokio::join!(deploy, settings).0 } else { tokio::join!(settings, deploy).1 };
        assert!(swap_error.unwrap_err().to_string().contains("lower"));
        host.settle().await;
        let table = host.registry.current();
        assert_eq!((host.serves(), table[0].config.limits.calls), (vec!["0.1.1".to_owned()], calls));
        assert_eq!(host.journal().last(), Some(&(SwapAction::Config, SwapOutcome::Published)));
    }
}
