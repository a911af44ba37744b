//! Looks at a page as people with different eyes, hands and screens do. Each gives what is wrong, in words; nothing is well.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::Tab;

/// What a screenshot shows, in shades of grey.
pub struct Picture {
    pub width: usize,
    pub height: usize,
    /// Row by row; 0 is black.
    pub shades: Vec<u8>,
}

/// Roles whose names a screen reader says before anything can be done with them.
const NAMED: [&str; 9] = ["button", "link", "textbox", "checkbox", "combobox", "radio", "image", "img", "region"];

/// Of all texts that are seen, those whose contrast with what is behind them is below that of WCAG 2.2, 1.4.3 for small ones.
const FAINT: &str = r#"(() => {
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
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("script, style, noscript")) continue;
    const [one, other] = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05);
    if (contrast < 4.5) faint.push(`${contrast.toFixed(2)}: ${walker.currentNode.data.trim()}`);
  }
  return faint;
})()"#;

/// Where the keyboard is, and whether it can be seen there.
const FOCUSED: &str = r#"(() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const style = getComputedStyle(element);
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return (element.id || element.textContent.trim()) + (seen ? "" : " (not seen)");
})()"#;

const SHIFTED: &str = r#"new Promise((tell) => {
  const observer = new PerformanceObserver(() => {});
  observer.observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => tell(observer.takeRecords().reduce((sum, shift) => sum + shift.value, 0))));
})"#;

impl Tab<'_> {
    /// A screen so wide, in CSS pixels: 320 is a small telephone, and 640 at twice the size.
    pub fn set_width(&mut self, width: u32) {
        let screen = json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", &screen);
    }

    /// "light" or "dark".
    pub fn set_scheme(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.ask("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// CSS pixels that have to be scrolled sideways to.
    pub fn overflow(&mut self) -> i64 {
        self.value("document.documentElement.scrollWidth - innerWidth").as_i64().unwrap().max(0)
    }

    pub fn faint_texts(&mut self) -> Vec<String> {
        texts(&self.value(FAINT))
    }

    /// What a screen reader would call by its role alone.
    pub fn nameless(&mut self) -> Vec<String> {
        let tree = self.ask("Accessibility.getFullAXTree", &json!({}));
        let said = tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] != true);
        let nameless = said.filter(|node| node["name"]["value"].as_str().is_none_or(|name| name.trim().is_empty()));
        let roles = nameless.filter_map(|node| node["role"]["value"].as_str());
        roles.filter(|role| NAMED.contains(role)).map(str::to_owned).collect()
    }

    /// What the keyboard comes by, in order, until it leaves the page.
    pub fn stops(&mut self) -> Vec<String> {
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

    /// How much has moved without anybody's doing (the sum of layout shifts).
    pub fn shift(&mut self) -> f64 {
        self.value(SHIFTED).as_f64().unwrap()
    }

    /// The first element that a selector finds.
    pub fn picture(&mut self, selector: &str) -> Picture {
        let place = self.value(&format!(
            "(() => {{ const at = document.querySelector({}).getBoundingClientRect(); \
             return {{ x: at.x + scrollX, y: at.y + scrollY, width: at.width, height: at.height, scale: 1 }} }})()",
            Value::from(selector),
        ));
        let wanted = json!({ "format": "png", "captureBeyondViewport": true, "clip": place });
        let taken = self.ask("Page.captureScreenshot", &wanted);
        read(&STANDARD.decode(taken["data"].as_str().unwrap()).unwrap())
    }
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn read(file: &[u8]) -> Picture {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let samples = info.color_type.samples();
    let shade = |pixel: &[u8]| (pixel.iter().take(3).map(|value| u32::from(*value)).sum::<u32>() / 3) as u8;
    let shades = bytes[..info.buffer_size()].chunks(samples).map(shade).collect();
    Picture { width: info.width as usize, height: info.height as usize, shades }
}
