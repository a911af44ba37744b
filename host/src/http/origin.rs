//! Where a request came from and under which address it was sent: the peer's, or what a trusted proxy says.

use std::net::IpAddr;

use http::{HeaderMap, header, request};

pub(super) struct Origins {
    trusted_proxies: Vec<IpAddr>,
}

impl Origins {
    pub(super) fn new(trusted_proxies: Vec<IpAddr>) -> Origins {
        Origins { trusted_proxies }
    }

    /// The nearest address that is no trusted proxy; what stands to the left of it in X-Forwarded-For may be made up.
    pub(super) fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        let forwarded: Vec<&str> = headers
            .get_all("x-forwarded-for")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .collect();
        for hop in forwarded.into_iter().rev() {
            if !self.is_trusted(client) {
                break;
            }
            let Ok(address) = hop.trim().parse::<IpAddr>() else { break };
            client = address.to_canonical();
        }
        client
    }

    /// "https://api.example.com": no slash at the end, no mount.
    pub(super) fn base_url(&self, peer: IpAddr, head: &request::Parts) -> String {
        let proto = head.headers.get("x-forwarded-proto").filter(|_| self.is_trusted(peer.to_canonical()));
        let scheme = if proto.is_some_and(|proto| proto == "https") { "https" } else { "http" };
        let host = match head.uri.authority() {
            Some(authority) => Some(authority.as_str()),
            None => head.headers.get(header::HOST).and_then(|host| host.to_str().ok()),
        };
        format!("{scheme}://{}", host.filter(|host| is_host(host)).unwrap_or("localhost"))
    }

    fn is_trusted(&self, address: IpAddr) -> bool {
        self.trusted_proxies.contains(&address)
    }
}

/// A caller chooses this text and pages show it: nothing but what a host and a port are made of.
fn is_host(text: &str) -> bool {
    (1..=255).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(headers: &[(&'static str, &str)]) -> request::Parts {
        let mut head = http::Request::new(()).into_parts().0;
        head.headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        head
    }

    fn client(forwarded: &str, peer: &str) -> String {
        let origins = Origins::new(vec!["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()]);
        origins.client_address(peer.parse().unwrap(), &head(&[("x-forwarded-for", forwarded)]).headers).to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        assert_eq!(client("1.1.1.1", "9.9.9.9"), "9.9.9.9");
        assert_eq!(client("1.1.1.1", "10.0.0.1"), "1.1.1.1");
        assert_eq!(client("6.6.6.6, 1.1.1.1, 10.0.0.2", "10.0.0.1"), "1.1.1.1");
        assert_eq!(client("nonsense", "10.0.0.1"), "10.0.0.1");
        assert_eq!(client("1.1.1.1", "::ffff:10.0.0.1"), "1.1.1.1");
    }

    #[test]
    fn the_base_url_is_made_of_what_a_host_can_be() {
        let origins = Origins::new(vec!["10.0.0.1".parse().unwrap()]);
        let url =
            |peer: &str, headers: &[(&'static str, &str)]| origins.base_url(peer.parse().unwrap(), &head(headers));
        assert_eq!(url("9.9.9.9", &[("host", "a.test:8080"), ("x-forwarded-proto", "https")]), "http://a.test:8080");
        assert_eq!(url("10.0.0.1", &[("host", "a.test"), ("x-forwarded-proto", "https")]), "https://a.test");
        assert_eq!(url("9.9.9.9", &[("host", "<script>")]), "http://localhost");
        assert_eq!(url("9.9.9.9", &[]), "http://localhost");
    }
}
