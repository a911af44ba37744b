//! A tracking number as pictures that cameras and scanners read: a QR code and a Code 128 barcode, as PNG and as SVG.
//! Black on white, within the quiet zone that their standards ask for.

use code128::Code128;
use qrcodegen::{QrCode, QrCodeEcc};

/// Characters of what is drawn: numbers and ids are shorter, and a wider barcode fits no label.
const TEXT_CHARS_MAX: usize = 48;
/// Light modules around a QR code.
const QUIET_MODULES: i32 = 4;
/// Pixels of one module.
const QR_SCALE: usize = 4;
const BAR_SCALE: usize = 2;
/// Pixels.
const BARS_HEIGHT: usize = 80;

/// Dark runs of modules on white. Invariant: every run lies within the width.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Modules.
    width: usize,
    rows: Vec<Vec<Run>>,
    /// Pixels of a module: across, down.
    scale: (usize, usize),
}

/// Where it begins, and how many modules are dark.
type Run = (usize, usize);

/// `None`: the text is no short line of printable ASCII.
pub fn qr_code(text: &str) -> Option<Picture> {
    let code = QrCode::encode_text(drawable(text)?, QrCodeEcc::Medium).ok()?;
    let lines = -QUIET_MODULES..code.size() + QUIET_MODULES;
    let dark = |y: i32| lines.clone().zip(0..).filter(|(x, _)| code.get_module(*x, y)).map(|(_, at)| (at, 1)).collect();
    let rows: Vec<Vec<Run>> = lines.clone().map(dark).collect();
    Some(Picture { width: rows.len(), rows, scale: (QR_SCALE, QR_SCALE) })
}

/// `None`: the text is no short line of printable ASCII.
pub fn barcode(text: &str) -> Option<Picture> {
    let code = Code128::encode(drawable(text)?.as_bytes());
    let bars = code.bar_coordinates().map(|bar| Some((usize::try_from(bar.x).ok()?, usize::from(bar.width))));
    let rows = vec![bars.collect::<Option<Vec<Run>>>()?];
    Some(Picture { width: code.len(), rows, scale: (BAR_SCALE, BARS_HEIGHT) })
}

fn drawable(text: &str) -> Option<&str> {
    let is_printable = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    (is_printable && (1..=TEXT_CHARS_MAX).contains(&text.len())).then_some(text)
}

impl Picture {
    /// One bit a pixel: some hundred bytes.
    pub fn to_png(&self) -> Option<Vec<u8>> {
        let (across, down) = self.scale;
        let pixels: Vec<u8> = self.rows.iter().flat_map(|row| self.pixels_of(row).repeat(down)).collect();
        let mut file = Vec::new();
        let side = |modules: usize, scale: usize| u32::try_from(modules * scale).ok();
        let mut encoder = png::Encoder::new(&mut file, side(self.width, across)?, side(self.rows.len(), down)?);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::One);
        // Lines mostly repeat the one above. What finds more to save takes twenty times as long, for each number.
        encoder.set_compression(png::Compression::Fast);
        encoder.set_filter(png::Filter::Up);
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(&pixels).ok()?;
        writer.finish().ok()?;
        Some(file)
    }

    /// A line of pixels: a bit each, the highest first, white where it is set.
    fn pixels_of(&self, row: &[Run]) -> Vec<u8> {
        let across = self.scale.0;
        let mut pixels = vec![0xff_u8; (self.width * across).div_ceil(8)];
        for at in row.iter().flat_map(|(from, length)| from * across..(from + length) * across) {
            if let Some(byte) = pixels.get_mut(at / 8) {
                *byte &= !(0x80 >> (at % 8));
            }
        }
        pixels
    }

    /// A whole document: a module is as wide as a pixel of the PNG, and grows with it.
    pub fn to_svg(&self) -> String {
        let (across, down) = self.scale;
        let (width, height) = (self.width * across, self.rows.len() * down);
        let mut path = String::new();
        for (row, y) in self.rows.iter().zip(0..) {
            for (from, length) in row {
                let (x, y, run) = (from * across, y * down, length * across);
                path.push_str(&format!("M{x} {y}h{run}v{down}h-{run}z"));
            }
        }
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h{width}v{height}H0z"/><path d="{path}"/></svg>"##
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use code128::Bar;

    const NUMBER: &str = "ACM4820193755SG";

    /// Width, height, and whether a pixel is dark, as a reader of PNG sees it.
    fn pixels(file: &[u8]) -> (usize, usize, Vec<bool>) {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut buffer = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut buffer).unwrap();
        (
            info.width as usize,
            info.height as usize,
            buffer[..info.buffer_size()].iter().map(|grey| *grey == 0).collect(),
        )
    }

    /// The same of an SVG of ours, painted as a browser would.
    fn painted(svg: &str) -> (usize, usize, Vec<bool>) {
        let number = |text: &str| text.parse::<usize>().unwrap();
        let size = svg.split('"').skip_while(|part| !part.ends_with("viewBox=")).nth(1).unwrap();
        let size: Vec<usize> = size.split(' ').map(number).collect();
        let mut dark = vec![false; size[2] * size[3]];
        let path = svg.rsplit("<path d=\"").next().unwrap().split('"').next().unwrap();
        for run in path.split_terminator('z') {
            let part: Vec<usize> =
                run.split(['M', ' ', 'h', 'v', '-']).filter(|part| !part.is_empty()).map(number).collect();
            for y in part[1]..part[1] + part[3] {
                (part[0]..part[0] + part[2]).for_each(|x| dark[y * size[2] + x] = true);
            }
        }
        (size[2], size[3], dark)
    }

    fn read_qr((width, height, dark): (usize, usize, Vec<bool>)) -> String {
        let shade = |x: usize, y: usize| if dark[y * width + x] { 0 } else { 255 };
        rqrr::PreparedImage::prepare_from_greyscale(width, height, shade).detect_grids()[0].decode().unwrap().1
    }

    fn read_bars((width, height, dark): (usize, usize, Vec<bool>)) -> String {
        let middle = &dark[height / 2 * width..][..width];
        let runs: Vec<usize> = middle.chunk_by(|left, right| left == right).map(<[bool]>::len).collect();
        assert!(!middle[0] && runs[0] >= 10 * BAR_SCALE && runs[runs.len() - 1] >= 10 * BAR_SCALE, "no quiet zone");
        let module = |pixels: &usize| u8::try_from(pixels / BAR_SCALE).unwrap();
        let bars = runs[1..].chunks_exact(2).map(|pair| Bar { width: module(&pair[0]), space: module(&pair[1]) });
        let mut bars: Vec<Bar> = bars.collect();
        let last = bars.len() - 1;
        bars[last].space = 0;
        code128::decode_str(&bars).unwrap()
    }

    #[test]
    fn a_camera_reads_the_qr_code() {
        let picture = qr_code(NUMBER).unwrap();
        assert_eq!(read_qr(pixels(&picture.to_png().unwrap())), NUMBER);
        assert_eq!(read_qr(painted(&picture.to_svg())), NUMBER);
    }

    #[test]
    fn a_scanner_reads_the_barcode() {
        for text in [NUMBER, "FLB0000000007BAVA", "order_a1B2c3D4e5"] {
            let picture = barcode(text).unwrap();
            assert_eq!(read_bars(pixels(&picture.to_png().unwrap())), text);
            assert_eq!(read_bars(painted(&picture.to_svg())), text);
        }
    }

    #[test]
    fn pictures_are_small() {
        let bytes = |picture: Option<Picture>| picture.unwrap().to_png().unwrap().len();
        assert!(bytes(qr_code(NUMBER)) < 600, "{}", bytes(qr_code(NUMBER)));
        assert!(bytes(barcode(NUMBER)) < 600, "{}", bytes(barcode(NUMBER)));
    }

    #[test]
    fn what_is_no_short_line_is_not_drawn() {
        let long = "x".repeat(TEXT_CHARS_MAX + 1);
        for text in ["", "東京", "a\nb", long.as_str()] {
            assert_eq!((qr_code(text), barcode(text)), (None, None), "{text}");
        }
        assert!(qr_code(&long[1..]).is_some() && barcode(&long[1..]).is_some());
    }
}
