//! `tenon plugin routes`: the routes of the serving version of a plugin.

use crate::{
    admin::wire::RouteStatus,
    cli::table::{Column, Row, render_table},
};

pub fn render(routes: &[RouteStatus]) -> String {
    let columns = [
        Column::Left("METHOD"),
        Column::Left("PATH"),
        Column::Left("OPERATION"),
        Column::Left("KEY"),
        Column::Left("SCOPES"),
        Column::Right("DEADLINE MS"),
    ];
    let rows = routes.iter().map(|route| {
        let key = match &route.key_parameter {
            Some(parameter) => format!("token in {{{parameter}}}"),
            None if route.open => "none".to_owned(),
            None => "required".to_owned(),
        };
        let names = [&route.method, &route.path, &route.operation].map(String::clone);
        let rest = [key, route.scopes.join(", "), route.deadline_ms.to_string()];
        Row { cells: names.into_iter().chain(rest).collect(), notes: Vec::new() }
    });
    render_table(&columns, &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(method: &str, path: &str, scopes: &[&str]) -> RouteStatus {
        RouteStatus {
            operation: "operation".to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            open: false,
            key_parameter: None,
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            deadline_ms: 10_000,
        }
    }

    #[test]
    fn table_shows_which_key_and_scopes_a_route_requires() {
        let routes = [
            route("POST", "/v1/notes", &["notes:write", "notes:admin"]),
            RouteStatus { open: true, ..route("GET", "/v1/version", &[]) },
            RouteStatus { key_parameter: Some("ticket".to_owned()), ..route("GET", "/v1/links/{ticket}", &[]) },
        ];
        let table = render(&routes);
        let cells =
            |line: &str| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("|");
        let expected = [
            "METHOD|PATH|OPERATION|KEY|SCOPES|DEADLINE MS",
            "POST|/v1/notes|operation|required|notes:write, notes:admin|10000",
            "GET|/v1/version|operation|none|-|10000",
            "GET|/v1/links/{ticket}|operation|token in {ticket}|-|10000",
        ];
        assert_eq!(table.lines().map(cells).collect::<Vec<_>>(), expected);
    }
}
