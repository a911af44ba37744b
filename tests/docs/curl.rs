//! `curl` as far as the documents use it: -s, -i, -X, -H, -d, --json, -u, and an address.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::support::{Response, TestClient, TestHost};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curl {
    method: Option<String>,
    headers: Vec<(String, String)>,
    body: String,
    address: String,
}

impl Curl {
    /// Every line of the text that begins with `curl`; a backslash at its end continues it.
    pub fn all_in(text: &str) -> Vec<Curl> {
        let text = text.replace("\\\n", " ");
        let lines = text.lines().map(str::trim).filter(|line| line.starts_with("curl "));
        lines.map(|line| Curl::parse(line).unwrap_or_else(|why| panic!("{why}: {line}"))).collect()
    }

    fn parse(line: &str) -> Result<Curl, String> {
        let mut curl = Curl::default();
        let mut words = split(line).into_iter().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} without a value"));
            match word.as_str() {
                "-s" | "-sS" | "-i" | "-f" | "-sf" | "-fsS" => {}
                "-X" | "--request" => curl.method = Some(value()?),
                "-H" | "--header" => {
                    let header = value()?;
                    let (name, value) = header.split_once(':').ok_or("a header without a colon")?;
                    curl.headers.push((name.trim().to_lowercase(), value.trim().to_owned()));
                }
                "-d" | "--data" | "--data-raw" => curl.body = value()?,
                "--json" => {
                    curl.body = value()?;
                    curl.headers.push(("content-type".to_owned(), "application/json".to_owned()));
                }
                "-u" | "--user" => {
                    let basic = format!("Basic {}", STANDARD.encode(value()?));
                    curl.headers.push(("authorization".to_owned(), basic));
                }
                "#" | "|" | ";" | ">" => break,
                address if address.contains("://") => curl.address = address.to_owned(),
                other => return Err(format!("{other} is not known here")),
            }
        }
        if curl.address.is_empty() { Err("no address".to_owned()) } else { Ok(curl) }
    }

    /// In place of the one that the documents leave out.
    pub fn with_key(mut self, key: &str) -> Curl {
        for (_, value) in &mut self.headers {
            *value = value.replace("tk_test_…", key);
        }
        self
    }

    /// 8080 are the interfaces, 9090 the operators.
    pub async fn run(&self, host: &TestHost) -> Response {
        let (interfaces, operators) = ("http://127.0.0.1:8080", "http://127.0.0.1:9090");
        let (base, path) = match (self.address.strip_prefix(interfaces), self.address.strip_prefix(operators)) {
            (Some(path), _) => (host.base(), path),
            (_, Some(path)) => (host.admin_base(), path),
            _ => panic!("{} is neither listener", self.address),
        };
        let method = self.method.as_deref().unwrap_or(if self.body.is_empty() { "GET" } else { "POST" });
        let headers: Vec<(&str, &str)> = self.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        TestClient::new(base, None).send(method, path, &headers, self.body.clone().into_bytes()).await
    }
}

/// Words as a shell splits them: quotes of both kinds, no variables.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for character in line.chars() {
        match (quote, character) {
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, ' ') if word.is_empty() => {}
            (None, ' ') => words.push(std::mem::take(&mut word)),
            _ => word.push(character),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[test]
fn a_line_is_read_as_curl_reads_it() {
    let [curl] = &Curl::all_in("text\n    curl -s -X PUT -H 'A: b c' \\\n  -d '{\"a\": 1}' http://127.0.0.1:8080/x\n")[..] else {
        panic!("one line")
    };
    let expected = Curl {
        method: Some("PUT".to_owned()),
        headers: vec![("a".to_owned(), "b c".to_owned())],
        body: "{\"a\": 1}".to_owned(),
        address: "http://127.0.0.1:8080/x".to_owned(),
    };
    assert_eq!(curl, &expected);
}
