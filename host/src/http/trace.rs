//! W3C Trace Context: adds the trace id of the caller to every log line of its request. An invalid `traceparent` is
//! ignored. Also defines the target of the access log.

use http::HeaderMap;
use tracing::Span;

/// Target of the access log, which has one line per request with the path pattern of its route. The log never contains
/// a query, a body, a credential, or the path as it was sent, since that may contain a token.
pub(super) const ACCESS_TARGET: &str = "tenon::access";

/// Length of "00-", 32 digits of the trace id, "-", 16 of the parent id, "-", 2 of the flags. Later versions may
/// continue after another "-".
const CHARACTERS: usize = 55;

/// Returns the span for the log lines of a request. The span has no effect without a trace id.
pub(super) fn span(headers: &HeaderMap) -> Span {
    // The highest level, so that the span is enabled whenever any line is.
    find_trace_id(headers).map_or_else(Span::none, |trace_id| tracing::error_span!("request", trace_id))
}

fn find_trace_id(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all("traceparent").iter();
    let (text, None) = (values.next()?.to_str().ok()?, values.next()) else { return None };
    let (fields, rest) = text.split_at_checked(CHARACTERS)?;
    let mut parts = fields.split('-');
    let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let may_continue = version != "00" && rest.starts_with('-');
    let is_whole = parts.next().is_none() && (rest.is_empty() || may_continue);
    let is_valid = is_hex(version, 2) && is_hex(trace, 32) && is_hex(parent, 16) && is_hex(flags, 2);
    let is_null = version == "ff" || [trace, parent].iter().any(|id| id.bytes().all(|digit| digit == b'0'));
    (is_whole && is_valid && !is_null).then_some(trace)
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn trace_id(given: &[&str]) -> Option<String> {
        let headers = given.iter().map(|text| ("traceparent".parse().unwrap(), text.parse().unwrap())).collect();
        find_trace_id(&headers).map(str::to_owned)
    }

    #[test]
    fn trace_id_is_extracted() {
        for text in ["00-T-00f067aa0ba902b7-01", "cc-T-00f067aa0ba902b7-00", "01-T-00f067aa0ba902b7-01-more"] {
            assert_eq!(trace_id(&[&text.replace('T', TRACE)]).as_deref(), Some(TRACE), "{text}");
        }
    }

    #[test]
    fn invalid_traceparent_is_ignored() {
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
            assert_eq!(trace_id(&[&text.replace('T', TRACE)]), None, "{text}");
        }
        let one = format!("00-{TRACE}-00f067aa0ba902b7-01");
        assert_eq!(trace_id(&[&one, &one]), None);
    }
}
