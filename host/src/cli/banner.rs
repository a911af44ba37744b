//! Text that `tenon serve` prints once every plugin serves or was refused: addresses, plugins and example commands.

use std::{net::SocketAddr, path::Path};

use super::output::printable;
use crate::config::local_url;

/// Content of the banner.
pub struct Banner<'a> {
    /// URL scheme of the interfaces: "http" or "https".
    pub scheme: &'static str,
    pub interfaces: SocketAddr,
    pub operators: SocketAddr,
    pub data_dir: &'a Path,
    /// The demo key of development and its file.
    pub demo_key: Option<(&'a str, &'a Path)>,
    /// Present while no credential exists.
    pub first_access: Option<FirstAccess<'a>>,
    /// Name of each plugin with its version, or with the reason why it does not serve.
    pub plugins: Vec<(&'a str, Result<&'a str, &'a str>)>,
    /// Other reasons, as clauses, why the host is not ready.
    pub missing: Vec<String>,
    /// `examples` in plugins.toml of the serving plugins. "{url}" and "{key}" are filled in. Without a demo key, none
    /// is printed.
    pub examples: Vec<&'a str>,
}

/// The first credential to create, and the name of the plugin that accepts it.
#[derive(Clone, Copy)]
pub enum FirstAccess<'a> {
    Key(&'a str),
    /// The plugin accepts only access tokens.
    Client(&'a str),
    /// The plugin accepts only access tokens, and the host has no issuer.
    NoIssuer(&'a str),
}

pub fn render(banner: &Banner<'_>) -> String {
    let url = local_url(banner.scheme, banner.interfaces);
    let absent = banner.plugins.iter().filter(|(_, state)| state.is_err()).count();
    let mut missing: Vec<String> = banner.missing.iter().map(|clause| printable(clause)).collect();
    if absent > 0 {
        missing.push(format!("{absent} of {} plugins serve nothing", banner.plugins.len()));
    }
    let state = match missing.as_slice() {
        [] => "is ready".to_owned(),
        missing => format!("is not ready: {}", missing.join("; ")),
    };
    let mut text = format!(
        "Tenon {} {state}.\n  interfaces  {url}\n  docs        {url}/docs\n  operators   {}\n  data        {}\n",
        env!("CARGO_PKG_VERSION"),
        local_url("http", banner.operators),
        banner.data_dir.display()
    );
    for (name, state) in &banner.plugins {
        match state {
            Ok(version) => text.push_str(&format!("  plugin      {name} {}\n", printable(version))),
            Err(reason) => text.push_str(&format!("  plugin      {name} does not serve: {}\n", printable(reason))),
        }
    }
    if let Some((key, file)) = banner.demo_key {
        text.push_str(&format!("  demo key    {key}  (test environment, kept in {})\n", file.display()));
        if !banner.examples.is_empty() {
            text.push_str("\nTry it:\n");
        }
        let filled = banner.examples.iter().map(|example| example.replace("{url}", &url).replace("{key}", key));
        filled.for_each(|example| text.push_str(&format!("\n  {example}\n")));
    } else if let Some(first) = banner.first_access {
        text.push_str(&render_first_access(first, banner));
    }
    text
}

fn render_first_access(first: FirstAccess<'_>, banner: &Banner<'_>) -> String {
    let operators = local_url("http", banner.operators);
    let folder = banner.data_dir.display().to_string().replace('\'', "'\\''");
    let (credential, command, plugin) = match first {
        FirstAccess::Key(plugin) => ("A key", "key", plugin),
        FirstAccess::Client(plugin) => ("An OAuth client", "client", plugin),
        FirstAccess::NoIssuer(plugin) => {
            return format!(
                "\n{plugin} accepts only access tokens, and this host issues none. Set `issuer` in [oauth] of plugins.toml, or \
                 configure another issuer in [oauth.issuers].\n"
            );
        }
    };
    format!(
        "\n{credential} does not exist yet. Create one for an organization:\n\n  tenon {command} create --plugin {plugin} \
         --tenant acme --environment live --admin {operators} --data-dir '{folder}'\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn example_commands_contain_reachable_addresses() {
        let text = render(&Banner {
            scheme: "https",
            interfaces: "0.0.0.0:8081".parse().unwrap(),
            operators: "[::]:9091".parse().unwrap(),
            data_dir: Path::new("data"),
            demo_key: Some(("tk_test_x", Path::new("data/demo.key"))),
            first_access: None,
            plugins: vec![("notes", Ok("0.1.0")), ("things", Err("it was refused"))],
            missing: vec![],
            examples: vec!["curl -H 'Authorization: Bearer {key}' {url}/v1/notes"],
        });
        assert!(
            text.contains("\n  curl -H 'Authorization: Bearer tk_test_x' https://127.0.0.1:8081/v1/notes\n"),
            "{text}"
        );
        assert!(text.contains("http://[::1]:9091") && text.contains("things does not serve: it was refused"), "{text}");
        assert!(text.contains(" is not ready: 1 of 2 plugins serve nothing.\n"), "{text}");
    }

    #[test]
    fn banner_without_credentials_shows_how_to_create_one() {
        let banner = Banner {
            scheme: "http",
            interfaces: "127.0.0.1:8080".parse().unwrap(),
            operators: "127.0.0.1:9090".parse().unwrap(),
            data_dir: Path::new("/var/lib/tenon"),
            demo_key: None,
            first_access: Some(FirstAccess::Key("notes")),
            plugins: vec![("notes", Ok("0.1.0"))],
            missing: vec![],
            examples: vec!["curl {url} {key}"],
        };
        let text = render(&banner);
        let line = "\n  tenon key create --plugin notes --tenant acme --environment live --admin http://127.0.0.1:9090 \
                    --data-dir '/var/lib/tenon'\n";
        assert!(text.contains(line) && !text.contains("curl"), "{text}");
        assert!(text.starts_with(concat!("Tenon ", env!("CARGO_PKG_VERSION"), " is ready.\n")), "{text}");
        let with = |first_access| {
            render(&Banner { first_access, plugins: vec![], missing: vec![], examples: vec![], ..banner })
        };
        assert!(!with(None).contains("create"));
        assert!(with(Some(FirstAccess::Client("notes"))).contains("\n  tenon client create --plugin notes "));
        let without_issuer = with(Some(FirstAccess::NoIssuer("notes")));
        assert!(without_issuer.contains("Set `issuer` in [oauth]") && !without_issuer.contains("create"));
    }

    #[test]
    fn host_with_a_full_disk_is_reported_as_not_ready() {
        let text = render(&Banner {
            scheme: "http",
            interfaces: "127.0.0.1:8080".parse().unwrap(),
            operators: "127.0.0.1:9090".parse().unwrap(),
            data_dir: Path::new("data"),
            demo_key: None,
            first_access: None,
            plugins: vec![("notes", Ok("0.1.0")), ("things", Err("it was refused"))],
            missing: vec!["the disk is nearly full".to_owned()],
            examples: vec![],
        });
        let state = " is not ready: the disk is nearly full; 1 of 2 plugins serve nothing.\n";
        assert!(text.contains(state), "{text}");
    }
}
