//! A QR code as the path of an SVG: dark runs of modules, one square unit each, within their quiet zone.

use qrcodegen::{QrCode, QrCodeEcc};
use tenon_plugin::Stop;

use super::limits::QUIET_MODULES;

/// Dark on light, whatever colours surround it: that is what cameras read.
pub struct Drawing {
    /// Units of each side, the quiet zone included.
    pub side: i32,
    /// The dark modules: `d` of a path.
    pub path: String,
}

/// Medium: a sixth of it may be unreadable.
pub fn draw(text: &str) -> Result<Drawing, Stop> {
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).map_err(|error| Stop::fault(error.to_string()))?;
    let path = (0..code.size()).map(|row| row_path(&code, row)).collect();
    Ok(Drawing { side: code.size() + 2 * QUIET_MODULES, path })
}

fn row_path(code: &QrCode, row: i32) -> String {
    let mut path = String::new();
    let mut column = 0;
    while column < code.size() {
        let length = (column..code.size()).take_while(|at| code.get_module(*at, row)).count() as i32;
        if length > 0 {
            let (x, y, run) = (column + QUIET_MODULES, row + QUIET_MODULES, length.to_string());
            path.push_str(&["M", &x.to_string(), " ", &y.to_string(), "h", &run, "v1h-", &run, "z"].concat());
        }
        column += length + 1;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paints the path as a browser would, several pixels a unit, and reads it as a camera would.
    fn read(drawing: &Drawing) -> String {
        const PIXELS: usize = 4;
        let side = drawing.side as usize;
        let mut dark = vec![false; side * side];
        for run in drawing.path.split_terminator('z') {
            let numbers: Vec<usize> =
                run.split(['M', ' ', 'h', 'v', '-']).filter_map(|number| number.parse().ok()).collect();
            let [x, y, length, 1, back] = numbers[..] else { panic!("{run}") };
            assert_eq!(length, back);
            (x..x + length).for_each(|x| dark[y * side + x] = true);
        }
        let shade = |x: usize, y: usize| if dark[(y / PIXELS) * side + x / PIXELS] { 0 } else { 255 };
        let mut image = rqrr::PreparedImage::prepare_from_greyscale(side * PIXELS, side * PIXELS, shade);
        image.detect_grids()[0].decode().unwrap().1
    }

    #[test]
    fn an_address_of_every_family_is_read_as_it_is() {
        for address in [
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
            "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8",
            "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV5",
        ] {
            assert_eq!(read(&draw(address).unwrap()), address);
        }
    }

    #[test]
    fn what_fits_no_code_is_a_fault() {
        assert!(draw(&"x".repeat(3_000)).is_err());
    }
}
