//! What happens to the file of a component, and what comes of it.

use std::{fs, io::Write};

use super::chameleons::{
    GRANTS, Shelf, chameleon, deploy, journal, namesake, plan, put_file, serving, status, until_refused, until_serves,
    version,
};

#[tokio::test]
async fn half_a_file_never_serves_and_the_whole_one_does() {
    let host = serving(1).await;
    let client = host.client("chameleon", "acme").await;
    let whole = chameleon(2, &[]);
    let (half, rest) = whole.split_at(whole.len() / 2);
    let mut file = fs::File::create(host.component_file("chameleon")).unwrap();
    file.write_all(half).unwrap();
    until_refused(&host, "chameleon").await;
    assert_eq!(version(&client).await, 1);

    file.write_all(rest).unwrap();
    until_serves(&host, "chameleon", 2).await;
    assert_eq!(status(&host, "chameleon").await["reasons"].to_string(), "[]");
}

/// The other plugin's swap tells that the touch was noticed: events come in their order.
#[tokio::test]
async fn touching_a_file_does_nothing() {
    let shelf = Shelf::new();
    let second = shelf.put("second", &namesake("second", 1));
    let host = plan(&shelf, 1, GRANTS).plugin("second", second, GRANTS).start().await;
    let before = (status(&host, "chameleon").await, journal(&host, "chameleon").await);

    put_file(&host, "chameleon", &chameleon(1, &[]));
    fs::write(host.component_file("chameleon"), chameleon(1, &[])).unwrap();
    put_file(&host, "second", &namesake("second", 2));
    until_serves(&host, "second", 2).await;
    assert_eq!((status(&host, "chameleon").await, journal(&host, "chameleon").await), before);
}

#[tokio::test]
async fn file_that_goes_away_changes_nothing_not_even_after_a_restart() {
    let host = serving(1).await;
    fs::remove_file(host.component_file("chameleon")).unwrap();
    let host = host.restart().await;
    assert_eq!(version(&host.client("chameleon", "acme").await).await, 1);
    put_file(&host, "chameleon", &chameleon(2, &[]));
    until_serves(&host, "chameleon", 2).await;
}

#[tokio::test]
async fn refused_file_that_is_put_back_as_it_was_leaves_no_complaint() {
    let host = serving(1).await;
    put_file(&host, "chameleon", b"no component");
    until_refused(&host, "chameleon").await;
    put_file(&host, "chameleon", &chameleon(2, &[]));
    until_serves(&host, "chameleon", 2).await;
    assert_eq!(status(&host, "chameleon").await["reasons"].to_string(), "[]");
}

#[tokio::test]
async fn folders_of_components_and_code_may_be_deleted_while_the_host_runs() {
    let host = serving(1).await;
    for folder in ["compiled", "components"] {
        fs::remove_dir_all(host.data_dir().join(folder)).unwrap();
    }
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    assert_eq!(version(&host.client("chameleon", "acme").await).await, 2);
    put_file(&host, "chameleon", &chameleon(3, &[]));
    until_serves(&host, "chameleon", 3).await;
    let host = host.restart().await;
    assert_eq!(version(&host.client("chameleon", "acme").await).await, 3);
}

#[tokio::test]
async fn swap_says_how_long_each_step_took() {
    let host = serving(1).await;
    put_file(&host, "chameleon", &chameleon(2, &[]));
    until_serves(&host, "chameleon", 2).await;
    let line = journal(&host, "chameleon").await.remove(0);
    let steps: Vec<_> = line["steps"].as_array().unwrap().iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["settle", "inspect", "compile", "link", "try", "compare", "store"]);
    assert_eq!(
        (&line["action"], &line["who"], &line["outcome"]),
        (&"file".into(), &"file watch".into(), &"published".into())
    );
}
