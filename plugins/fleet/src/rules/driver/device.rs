//! The device of a driver: where pushes go, and whether its driver is online (research/fleet 1.2).

use crate::rules::invalid::Invalid;

/// Longer than those of any push service.
pub const TOKEN_CHARS_MAX: usize = 512;
/// Of one driver; the one that was registered first makes room.
pub const DEVICES_MAX: usize = 10;

const PLATFORMS: [&str; 5] = ["android", "ios", "macos", "web", "windows"];
const PLATFORMS_TEXT: &str = "android, ios, macos, web, windows";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    pub token: String,
    pub platform: &'static str,
}

/// Every fault at once. The platform in any spelling of its letters.
pub fn register(token: Option<&str>, platform: Option<&str>) -> Result<Device, Vec<Invalid>> {
    let mut wrong = Vec::new();
    let token = token.unwrap_or_default();
    if token.is_empty() {
        wrong.push(Invalid::Required("token"));
    } else if token.len() > TOKEN_CHARS_MAX {
        wrong.push(Invalid::TooLong { field: "token", characters_max: TOKEN_CHARS_MAX });
    } else if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        wrong.push(Invalid::Not { field: "token", kind: "a text of printable ASCII characters" });
    }
    let known = platform.and_then(|name| PLATFORMS.into_iter().find(|known| known.eq_ignore_ascii_case(name)));
    match (known, platform) {
        (Some(platform), _) if wrong.is_empty() => return Ok(Device { token: token.to_owned(), platform }),
        (Some(_), _) => {}
        (None, None | Some("")) => wrong.push(Invalid::Required("platform")),
        (None, Some(_)) => wrong.push(Invalid::NotOneOf { field: "platform", allowed: PLATFORMS_TEXT }),
    }
    Err(wrong)
}

/// Without a word of the caller: the other way round.
pub fn toggle_online(before: bool, asked: Option<bool>) -> bool {
    asked.unwrap_or(!before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_a_token_and_a_platform() {
        let device = register(Some("abc:123"), Some("iOS")).unwrap();
        assert_eq!((device.token.as_str(), device.platform), ("abc:123", "ios"));
        assert_eq!(register(None, None).unwrap_err(), ["token", "platform"].map(Invalid::Required));
        let unknown = register(Some("a"), Some("toaster")).unwrap_err();
        assert_eq!(unknown, [Invalid::NotOneOf { field: "platform", allowed: PLATFORMS_TEXT }]);
        for token in ["a b", "\n", "é", &"x".repeat(TOKEN_CHARS_MAX + 1)] {
            assert_eq!(register(Some(token), Some("android")).unwrap_err().len(), 1, "{token}");
        }
        assert_eq!(PLATFORMS.join(", "), PLATFORMS_TEXT);
    }

    #[test]
    fn online_is_flipped_or_set() {
        let table = [(false, None, true), (true, None, false), (true, Some(true), true), (true, Some(false), false)];
        for (before, asked, expected) in table {
            assert_eq!(toggle_online(before, asked), expected);
        }
    }
}
