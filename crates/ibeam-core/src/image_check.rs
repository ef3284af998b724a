//! Images as far as their headers and chunks: their size in pixels, and whether they are complete.
//!
//! Pure. Only the headers are decoded, wherever they are in the Base64, so that the cost does not depend on the size. An image
//! counts as damaged only if that is certain; services decode all of it and know better.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ibeam_protocol::{Media, MediaType};

/// An image that ends before it is complete, or whose header is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DamagedImage;

/// Returns the longer side of an image in pixels; `None` for a document, and for an image whose size is not known.
///
/// # Errors
/// The image is damaged.
pub(crate) fn image_side(media: &Media) -> Result<Option<u32>, DamagedImage> {
    let bytes = Bytes(&media.data);
    let (width, height) = match media.media_type {
        MediaType::Png => png_size(&bytes)?,
        MediaType::Jpeg => match jpeg_size(&bytes)? {
            Some(size) => size,
            None => return Ok(None),
        },
        MediaType::Gif => gif_size(&bytes)?,
        MediaType::Webp => match webp_size(&bytes)? {
            Some(size) => size,
            None => return Ok(None),
        },
        MediaType::Pdf => return Ok(None),
    };
    let side = width.max(height);
    if width == 0 || height == 0 { Err(DamagedImage) } else { Ok(Some(side)) }
}

/// Bytes in Base64.
struct Bytes<'a>(&'a str);

impl Bytes<'_> {
    fn len(&self) -> usize {
        self.0.trim_end_matches('=').len() * 3 / 4
    }

    /// Returns the bytes at an offset.
    fn read<const N: usize>(&self, offset: usize) -> Result<[u8; N], DamagedImage> {
        let first = offset / 3 * 4;
        let end = (offset + N).div_ceil(3) * 4;
        let text = self.0.get(first..end.min(self.0.len())).ok_or(DamagedImage)?;
        let bytes = STANDARD.decode(text).map_err(|_| DamagedImage)?;
        bytes.get(offset % 3..).and_then(|bytes| bytes.first_chunk()).copied().ok_or(DamagedImage)
    }
}

/// Follows the chunks up to the last one: each has a length, a type, its data and a checksum.
fn png_size(bytes: &Bytes<'_>) -> Result<(u32, u32), DamagedImage> {
    const SIGNATURE: usize = 8;
    const FRAME: usize = 12;
    let mut offset = SIGNATURE;
    let (mut size, mut has_data) = (None, false);
    while offset < bytes.len() {
        let [a, b, c, d, kind @ ..] = bytes.read::<8>(offset)?;
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).map_err(|_| DamagedImage)?;
        let next = offset.checked_add(length).and_then(|end| end.checked_add(FRAME)).ok_or(DamagedImage)?;
        if next > bytes.len() {
            return Err(DamagedImage);
        }
        match &kind {
            b"IHDR" => {
                let [a, b, c, d, e, f, g, h] = bytes.read::<8>(offset + 8)?;
                size = Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])));
            }
            b"IDAT" => has_data = true,
            b"IEND" => break,
            _ => {}
        }
        offset = next;
    }
    size.filter(|_| has_data).ok_or(DamagedImage)
}

/// Follows the segments up to the compressed data. Returns `None` if there is something else between them.
fn jpeg_size(bytes: &Bytes<'_>) -> Result<Option<(u32, u32)>, DamagedImage> {
    let mut offset = 2;
    let mut size = None;
    loop {
        let [mark, kind] = bytes.read::<2>(offset)?;
        if mark != 0xff {
            return Ok(None);
        }
        match kind {
            // A fill byte, and marks without a segment.
            0xff => offset += 1,
            0x01 | 0xd0..=0xd8 => offset += 2,
            // The compressed data begins, or the image ends.
            0xda => return size.map(Some).ok_or(DamagedImage),
            0xd9 => return Err(DamagedImage),
            kind => {
                let [high, low] = bytes.read::<2>(offset + 2)?;
                if matches!(kind, 0xc0..=0xcf) && !matches!(kind, 0xc4 | 0xc8 | 0xcc) {
                    let [_, a, b, c, d] = bytes.read::<5>(offset + 4)?;
                    let side = |high, low| u32::from(u16::from_be_bytes([high, low]));
                    size = Some((side(c, d), side(a, b)));
                }
                offset += 2 + usize::from(u16::from_be_bytes([high, low])).max(2);
            }
        }
    }
}

fn gif_size(bytes: &Bytes<'_>) -> Result<(u32, u32), DamagedImage> {
    let [a, b, c, d] = bytes.read::<4>(6)?;
    Ok((u32::from(u16::from_le_bytes([a, b])), u32::from(u16::from_le_bytes([c, d]))))
}

/// Reads the first chunk: it has the size in one of three forms.
fn webp_size(bytes: &Bytes<'_>) -> Result<Option<(u32, u32)>, DamagedImage> {
    let length = usize::try_from(u32::from_le_bytes(bytes.read(4)?)).map_err(|_| DamagedImage)?;
    if length.checked_add(8).is_none_or(|end| end > bytes.len()) {
        return Err(DamagedImage);
    }
    Ok(match &bytes.read::<4>(12)? {
        b"VP8X" => {
            let [a, b, c, d, e, f] = bytes.read(24)?;
            Some((u32::from_le_bytes([a, b, c, 0]) + 1, u32::from_le_bytes([d, e, f, 0]) + 1))
        }
        b"VP8L" => {
            let bits = u32::from_le_bytes(bytes.read(21)?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => {
            let [a, b, c, d] = bytes.read(26)?;
            let side = |low, high| u32::from(u16::from_le_bytes([low, high]) & 0x3fff);
            Some((side(a, b), side(c, d)))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn media(media_type: MediaType, bytes: &[u8]) -> Media {
        Media { name: "a".to_owned(), media_type, data: STANDARD.encode(bytes).into() }
    }

    fn side(media_type: MediaType, bytes: &[u8]) -> Result<Option<u32>, DamagedImage> {
        image_side(&media(media_type, bytes))
    }

    fn png_chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length[..], kind, data, &[0; 4]].concat()
    }

    fn png() -> Vec<u8> {
        let header = [&3000_u32.to_be_bytes()[..], &20_u32.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
        let chunks = [
            png_chunk(b"IHDR", &header),
            png_chunk(b"tEXt", b"hi"),
            png_chunk(b"IDAT", &[1; 50]),
            png_chunk(b"IEND", b""),
        ];
        [&b"\x89PNG\r\n\x1a\n"[..], &chunks.concat()].concat()
    }

    fn jpeg() -> Vec<u8> {
        let application = [&[0xff, 0xe0, 0, 6][..], b"JFIF"].concat();
        let frame = [0xff, 0xc2, 0, 8, 8, 0x01, 0x00, 0x02, 0x00, 1];
        [&[0xff, 0xd8][..], &application, &[0xff], &frame, &[0xff, 0xda, 0, 2], &[7; 30], &[0xff, 0xd9]]
            .concat()
    }

    fn webp(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let size = |length: usize| u32::try_from(length).unwrap().to_le_bytes();
        let chunk = [&kind[..], &size(data.len()), data].concat();
        [&b"RIFF"[..], &size(chunk.len() + 4), b"WEBP", &chunk].concat()
    }

    #[test]
    fn the_size_of_an_image_is_in_its_header() {
        assert_eq!(side(MediaType::Png, &png()), Ok(Some(3000)));
        assert_eq!(side(MediaType::Jpeg, &jpeg()), Ok(Some(512)));
        assert_eq!(side(MediaType::Gif, b"GIF89a\x10\x00\x05\x01\0\0\0"), Ok(Some(261)));
        assert_eq!(side(MediaType::Webp, &webp(b"VP8X", &[0, 0, 0, 0, 0xff, 1, 0, 9, 0, 0])), Ok(Some(512)));
        let lossless = (99_u32 | 199 << 14).to_le_bytes();
        assert_eq!(side(MediaType::Webp, &webp(b"VP8L", &[&[0x2f][..], &lossless].concat())), Ok(Some(200)));
        assert_eq!(side(MediaType::Webp, &webp(b"VP8 ", &[0, 0, 0, 0x9d, 1, 0x2a, 3, 0, 8, 0])), Ok(Some(8)));
        assert_eq!(side(MediaType::Pdf, b"%PDF-1.7"), Ok(None));
    }

    #[test]
    fn an_image_without_its_end_is_damaged() {
        let png = png();
        for end in 8..png.len() - 12 {
            assert_eq!(side(MediaType::Png, &png[..end]), Err(DamagedImage), "{end}");
        }
        assert_eq!(
            side(MediaType::Png, &png[..png.len() - 12]),
            Ok(Some(3000)),
            "only the last mark is missing"
        );
        assert_eq!(side(MediaType::Png, &[&png[..], b"more"].concat()), Ok(Some(3000)));
        for end in 3..23 {
            assert_eq!(side(MediaType::Jpeg, &jpeg()[..end]), Err(DamagedImage), "{end}");
        }
        let webp = webp(b"VP8X", &[0; 20]);
        assert_eq!(side(MediaType::Webp, &webp[..webp.len() - 1]), Err(DamagedImage));
        assert_eq!(side(MediaType::Gif, b"GIF89a\x10\x00"), Err(DamagedImage));
        assert_eq!(side(MediaType::Gif, b"GIF89a\0\0\0\0"), Err(DamagedImage), "no pixels");
    }

    proptest! {
        #[test]
        fn no_bytes_are_read_beyond_the_end(
            kind in prop::sample::select(vec![MediaType::Png, MediaType::Jpeg, MediaType::Gif, MediaType::Webp]),
            start in 0..60_usize,
            bytes in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            let whole = match kind { MediaType::Jpeg => jpeg(), _ => png() };
            let mixed = [&whole[..start.min(whole.len())], &bytes].concat();
            let _any = side(kind, &mixed);
        }
    }
}
