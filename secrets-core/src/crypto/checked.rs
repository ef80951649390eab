//! Text format of 256-bit keys and tokens: a prefix that names the kind, 43 base62 digits, and a
//! checksum.
//!
//! The checksum is 6 base62 digits of the CRC-32 (IEEE) of all preceding characters. It detects
//! typos, and helps secret scanners to avoid false positives.

use crc::{CRC_32_ISO_HDLC, Crc};
use zeroize::Zeroizing;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BODY: usize = 43;
const CHECKSUM: usize = 6;

/// CRC-32 of IEEE 802.3, in reflected bit order.
static CRC_32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// Encodes 256 bits (a key or a token) as a string with this prefix.
pub(crate) fn write(prefix: &str, bits: &[u8; 32]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(prefix.len() + BODY + CHECKSUM));
    text.push_str(prefix);
    push_base62(&mut text, bits, BODY);
    let checksum = CRC_32.checksum(text.as_bytes());
    push_base62(&mut text, &checksum.to_be_bytes(), CHECKSUM);
    text
}

/// Decodes a string that [`write()`] encoded with this prefix. Returns `None` if the string is not
/// valid.
pub(crate) fn read(prefix: &str, text: &str) -> Option<Zeroizing<[u8; 32]>> {
    if !is_whole(prefix, text) {
        return None;
    }
    let mut bits = Zeroizing::new([0_u8; 32]);
    for digit in text.get(prefix.len()..prefix.len() + BODY)?.bytes() {
        let value = DIGITS.iter().position(|known| *known == digit)?;
        let mut carry = u16::try_from(value).ok()?;
        for byte in bits.iter_mut().rev() {
            carry += u16::from(*byte) * 62;
            *byte = carry.to_be_bytes()[1];
            carry >>= 8;
        }
        // 43 base62 digits can encode more than 256 bits.
        if carry > 0 {
            return None;
        }
    }
    Some(bits)
}

/// True if a string has the right prefix, length, digits and checksum.
pub(crate) fn is_whole(prefix: &str, text: &str) -> bool {
    let is_long = text.len() == prefix.len() + BODY + CHECKSUM;
    let parts = is_long.then(|| text.split_at_checked(prefix.len() + BODY)).flatten();
    let Some((body, checksum)) = parts else { return false };
    let Some(digits) = body.strip_prefix(prefix) else { return false };
    let mut expected = String::with_capacity(CHECKSUM);
    push_base62(&mut expected, &CRC_32.checksum(body.as_bytes()).to_be_bytes(), CHECKSUM);
    digits.bytes().all(|digit| digit.is_ascii_alphanumeric()) && expected == checksum
}

/// Appends a big-endian number as `digits` base62 digits, most significant digit first, with
/// leading zeros.
pub(super) fn push_base62(out: &mut String, number: &[u8], digits: usize) {
    let mut number = Zeroizing::new(number.to_vec());
    let mut text = Zeroizing::new(vec![b'0'; digits]);
    for place in text.iter_mut().rev() {
        let mut remainder = 0_u16;
        for byte in number.iter_mut() {
            let value = (remainder << 8) | u16::from(*byte);
            *byte = u8::try_from(value / 62).unwrap_or_default();
            remainder = value % 62;
        }
        *place = DIGITS[usize::from(remainder)];
    }
    out.extend(text.iter().map(|byte| char::from(*byte)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_back_from_their_text() {
        for bits in [[0; 32], [0xff; 32], std::array::from_fn(|at| at.to_le_bytes()[0])] {
            let text = write("kvc_", &bits);

            assert_eq!(text.len(), 53);
            assert_eq!(read("kvc_", &text).map(|read| *read), Some(bits));
            assert!(read("kvd_", &text).is_none());
        }
    }

    #[test]
    fn a_text_of_more_than_256_bits_is_refused() {
        let mut text = format!("kvc_{}", "z".repeat(43));
        let checksum = CRC_32.checksum(text.as_bytes());
        push_base62(&mut text, &checksum.to_be_bytes(), 6);

        assert!(is_whole("kvc_", &text));
        assert!(read("kvc_", &text).is_none());
    }

    #[test]
    fn a_text_that_was_changed_or_cut_is_refused() {
        let text = write("kvc_", &[7; 32]);

        for place in 0..text.len() {
            let mut changed = text.as_bytes().to_vec();
            changed[place] = if changed[place] == b'1' { b'2' } else { b'1' };
            assert!(read("kvc_", std::str::from_utf8(&changed).unwrap()).is_none(), "{place}");
            assert!(read("kvc_", &text[..place]).is_none(), "{place}");
        }
        assert!(read("kvc_", &format!("{}\n", *text)).is_none());
    }
}
