//! Changes of a component file: partial writes, touches, deletion, and invalid content.

use std::{fs, io::Write};

use super::chameleons::{
    ComponentFiles, GRANTS, chameleon, chameleon_named, deploy, host_builder, host_serving, journal, put_file, status,
    version, wait_until_rejected, wait_until_serving,
};

#[tokio::test]
async fn partial_file_is_rejected_and_the_complete_file_serves() {
    let host = host_serving(1).await;
    let client = host.client("chameleon", "acme").await;
    let whole = chameleon(2, &[]);
    let (half, rest) = whole.split_at(whole.len() / 2);
    let mut file = fs::File::create(host.component_file("chameleon")).unwrap();
    file.write_all(half).unwrap();
    wait_until_rejected(&host, "chameleon").await;
    assert_eq!(version(&client).await, 1);

    file.write_all(rest).unwrap();
    wait_until_serving(&host, "chameleon", 2).await;
    assert_eq!(status(&host, "chameleon").await["reasons"].to_string(), "[]");
}

/// File events arrive in order, so the other plugin's swap shows that the touch was processed.
#[tokio::test]
async fn touched_file_is_ignored() {
    let files = ComponentFiles::new();
    let second = files.put("second", &chameleon_named("second", 1));
    let host = host_builder(&files, 1, GRANTS).plugin("second", second, GRANTS).start().await;
    let before = (status(&host, "chameleon").await, journal(&host, "chameleon").await);

    put_file(&host, "chameleon", &chameleon(1, &[]));
    fs::write(host.component_file("chameleon"), chameleon(1, &[])).unwrap();
    put_file(&host, "second", &chameleon_named("second", 2));
    wait_until_serving(&host, "second", 2).await;
    assert_eq!((status(&host, "chameleon").await, journal(&host, "chameleon").await), before);
}

#[tokio::test]
async fn deleted_file_changes_nothing_even_after_a_restart() {
    let host = host_serving(1).await;
    fs::remove_file(host.component_file("chameleon")).unwrap();
    let host = host.restart().await;
    assert_eq!(version(&host.client("chameleon", "acme").await).await, 1);
    put_file(&host, "chameleon", &chameleon(2, &[]));
    wait_until_serving(&host, "chameleon", 2).await;
}

#[tokio::test]
async fn valid_file_after_a_rejected_one_clears_the_reasons() {
    let host = host_serving(1).await;
    put_file(&host, "chameleon", b"no component");
    wait_until_rejected(&host, "chameleon").await;
    put_file(&host, "chameleon", &chameleon(2, &[]));
    wait_until_serving(&host, "chameleon", 2).await;
    assert_eq!(status(&host, "chameleon").await["reasons"].to_string(), "[]");
}

#[tokio::test]
async fn component_and_code_folders_may_be_deleted_while_the_host_runs() {
    let host = host_serving(1).await;
    for folder in ["compiled", "components"] {
        fs::remove_dir_all(host.data_dir().join(folder)).unwrap();
    }
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    assert_eq!(version(&host.client("chameleon", "acme").await).await, 2);
    put_file(&host, "chameleon", &chameleon(3, &[]));
    wait_until_serving(&host, "chameleon", 3).await;
    let host = host.restart().await;
    assert_eq!(version(&host.client("chameleon", "acme").await).await, 3);
}

#[tokio::test]
async fn journal_lists_the_steps_of_a_swap() {
    let host = host_serving(1).await;
    put_file(&host, "chameleon", &chameleon(2, &[]));
    wait_until_serving(&host, "chameleon", 2).await;
    let line = journal(&host, "chameleon").await.remove(0);
    let steps: Vec<_> = line["steps"].as_array().unwrap().iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["settle", "inspect", "compile", "link", "try", "compare", "store"]);
    assert_eq!(
        (&line["action"], &line["who"], &line["outcome"]),
        (&"file".into(), &"file watch".into(), &"published".into())
    );
}
