//! Accessibility checks and screenshots of a page. Each check returns its findings as text.
//! An empty list means success.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::Tab;

/// Screenshot in shades of grey.
pub struct Screenshot {
    pub width: usize,
    pub height: usize,
    /// Row by row; 0 is black.
    pub shades: Vec<u8>,
}

/// Roles that need an accessible name.
const NAMED_ROLES: [&str; 9] = ["button", "link", "textbox", "checkbox", "combobox", "radio", "image", "img", "region"];

/// Script that returns all visible strings whose contrast with their background is below 4.5, the minimum of WCAG 2.2,
/// 1.4.3 for small text.
const LOW_CONTRAST: &str = r#"(() => {
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = (colour) => {
    const linear = channels(colour).slice(0, 3).map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((channels(colour)[3] ?? 1) > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("script, style, noscript")) continue;
    const [one, other] = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05);
    if (contrast < 4.5) low.push(`${contrast.toFixed(2)}: ${walker.currentNode.data.trim()}`);
  }
  return low;
})()"#;

/// Script that returns the element with the keyboard focus, and whether its focus indicator is visible.
const FOCUSED: &str = r#"(() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const style = getComputedStyle(element);
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return (element.id || element.textContent.trim()) + (seen ? "" : " (focus not visible)");
})()"#;

/// Script that returns the sum of all layout shifts so far, without those that follow a user action.
const LAYOUT_SHIFT: &str = r#"new Promise((resolve) => {
  let sum = 0;
  const add = (shifts) => shifts.filter((shift) => !shift.hadRecentInput).forEach((shift) => { sum += shift.value; });
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => { add(observer.takeRecords()); resolve(sum); })));
})"#;

impl Tab<'_> {
    /// Sets the width of the screen in CSS pixels: 320 is a small telephone, or a width of 640 at twice the size.
    pub fn set_width(&mut self, width: u32) {
        let screen = json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false });
        self.command("Emulation.setDeviceMetricsOverride", &screen);
    }

    /// Sets the preferred colour scheme: "light" or "dark".
    pub fn set_scheme(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.command("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Returns the width in CSS pixels that requires horizontal scrolling.
    pub fn overflow(&mut self) -> i64 {
        self.value("document.documentElement.scrollWidth - innerWidth").as_i64().unwrap().max(0)
    }

    pub fn low_contrast_texts(&mut self) -> Vec<String> {
        texts(&self.value(LOW_CONTRAST))
    }

    /// Returns the roles of elements without an accessible name.
    pub fn unnamed_elements(&mut self) -> Vec<String> {
        let tree = self.command("Accessibility.getFullAXTree", &json!({}));
        let exposed = tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] != true);
        let unnamed = exposed.filter(|node| node["name"]["value"].as_str().is_none_or(|name| name.trim().is_empty()));
        let roles = unnamed.filter_map(|node| node["role"]["value"].as_str());
        roles.filter(|role| NAMED_ROLES.contains(role)).map(str::to_owned).collect()
    }

    /// Returns at most 100 elements that the Tab key focuses, in order, until the focus leaves the page or returns to
    /// the first element.
    pub fn tab_stops(&mut self) -> Vec<String> {
        let mut stops = Vec::new();
        while stops.len() < 100 {
            self.press("Tab");
            match self.value(FOCUSED) {
                Value::String(stop) if stops.first() != Some(&stop) => stops.push(stop),
                _ => break,
            }
        }
        stops
    }

    /// Returns the cumulative layout shift that no user action caused.
    pub fn layout_shift(&mut self) -> f64 {
        self.value(LAYOUT_SHIFT).as_f64().unwrap()
    }

    /// Takes a screenshot of the first element that the selector matches.
    pub fn screenshot(&mut self, selector: &str) -> Screenshot {
        let clip = self.value(&format!(
            "(() => {{ const at = document.querySelector({}).getBoundingClientRect(); \
             return {{ x: at.x + scrollX, y: at.y + scrollY, width: at.width, height: at.height, scale: 1 }} }})()",
            Value::from(selector),
        ));
        let parameters = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let captured = self.command("Page.captureScreenshot", &parameters);
        decode_png(&STANDARD.decode(captured["data"].as_str().unwrap()).unwrap())
    }
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn decode_png(file: &[u8]) -> Screenshot {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let samples = info.color_type.samples();
    let shade = |pixel: &[u8]| (pixel.iter().take(3).map(|value| u32::from(*value)).sum::<u32>() / 3) as u8;
    let shades = bytes[..info.buffer_size()].chunks(samples).map(shade).collect();
    Screenshot { width: info.width as usize, height: info.height as usize, shades }
}

#[cfg(test)]
mod tests {
    use crate::server::{self, Response};

    #[test]
    fn layout_shift_is_measured() {
        let Some(mut browser) = crate::acquire() else { return };
        let body = "<!doctype html><title>shift</title><div id=a></div><p>text</p>\
                    <script>setTimeout(() => { a.style.height = '200px'; document.title = 'shifted'; }, 100)</script>";
        let page = server::start(move |_| Response {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/html".to_owned())],
            body: body.to_owned(),
        });
        let mut tab = browser.open(&page);
        tab.wait_for("document.title === 'shifted'");
        assert!(tab.layout_shift() > 0.0);
    }
}
