//! W3C Trace Context: under which id a caller follows a request through many programs. It stands in every line of the log
//! that the request makes; what is no such id is overlooked. Also the name of the access log.

use http::HeaderMap;
use tracing::Span;

/// The target of the access log: one line for each request, by the pattern of its route. Never a query, a body, a credential,
/// or a path as it was sent: it may contain a token.
pub(super) const ACCESS_TARGET: &str = "tenon::access";

/// "00-", 32 digits of the trace, "-", 16 of the parent, "-", 2 of the flags. Later versions may go on after another "-".
const CHARACTERS: usize = 55;

/// What the lines of this request stand in; of no effect where nobody traces it.
pub(super) fn span(headers: &HeaderMap) -> Span {
    // At the highest level: it goes where any line goes.
    find_trace_id(headers).map_or_else(Span::none, |trace_id| tracing::error_span!("request", trace_id))
}

fn find_trace_id(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all("traceparent").iter();
    let (text, None) = (given.next()?.to_str().ok()?, given.next()) else { return None };
    let (known, rest) = text.split_at_checked(CHARACTERS)?;
    let mut parts = known.split('-');
    let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let may_go_on = version != "00" && rest.starts_with('-');
    let is_whole = parts.next().is_none() && (rest.is_empty() || may_go_on);
    let is_sound = is_hex(version, 2) && is_hex(trace, 32) && is_hex(parent, 16) && is_hex(flags, 2);
    let stands_for_none = version == "ff" || [trace, parent].iter().any(|id| id.bytes().all(|digit| digit == b'0'));
    (is_whole && is_sound && !stands_for_none).then_some(trace)
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn found(given: &[&str]) -> Option<String> {
        let headers = given.iter().map(|text| ("traceparent".parse().unwrap(), text.parse().unwrap())).collect();
        find_trace_id(&headers).map(str::to_owned)
    }

    #[test]
    fn the_id_of_a_trace_is_taken_over() {
        for text in ["00-T-00f067aa0ba902b7-01", "cc-T-00f067aa0ba902b7-00", "01-T-00f067aa0ba902b7-01-more"] {
            assert_eq!(found(&[&text.replace('T', TRACE)]).as_deref(), Some(TRACE), "{text}");
        }
    }

    #[test]
    fn what_is_no_traceparent_is_overlooked() {
        let none = "0".repeat(32);
        for text in [
            "",
            "00-T-00f067aa0ba902b7",
            "00-T-00f067aa0ba902b7-01-more",
            "01-T-00f067aa0ba902b7-01more",
            "ff-T-00f067aa0ba902b7-01",
            "00-T-0000000000000000-01",
            "0-0T-00f067aa0ba902b7-01",
            "00-T-00F067AA0BA902B7-01",
            "00-T-00f067aa0ba902b7-0\u{e9}",
            &format!("00-{none}-00f067aa0ba902b7-01"),
        ] {
            assert_eq!(found(&[&text.replace('T', TRACE)]), None, "{text}");
        }
        let one = format!("00-{TRACE}-00f067aa0ba902b7-01");
        assert_eq!(found(&[&one, &one]), None);
    }
}
