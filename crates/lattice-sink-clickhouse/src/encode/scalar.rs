//! Single values as Native blocks have them.

use super::builder::Refusal;

/// The bytes, filled up with zeros to `end`.
pub(super) fn put_padded(out: &mut Vec<u8>, bytes: &[u8], end: usize) -> Result<(), Refusal> {
    if out.len() + bytes.len() > end {
        return Err(format!("{} bytes are too many for the column", bytes.len()));
    }
    out.extend_from_slice(bytes);
    out.resize(end, 0);
    Ok(())
}

/// A length in seven-bit groups, then the bytes.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let mut length = text.len();
    while length >= 0x80 {
        out.push((length & 0x7F) as u8 | 0x80); // seven bits
        length >>= 7;
    }
    out.push(length as u8); // seven bits are left
    out.extend_from_slice(text);
}

/// Big-endian two's complement of at most 16 bytes.
pub(super) fn short(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    if bytes.len() > 16 {
        return None;
    }
    let fill = if first & 0x80 != 0 { -1 } else { 0 };
    Some(bytes.iter().fold(fill, |number: i128, byte| (number << 8) | i128::from(*byte)))
}

/// Two little-endian halves, the high one first.
pub(super) fn uuid(text: &[u8]) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    let mut digits = text.iter().filter(|byte| **byte != b'-');
    for byte in &mut bytes {
        let (high, low) = (digit(*digits.next()?), digit(*digits.next()?));
        // Anything that is no digit has bits above the fourth.
        if (high | low) > 0xF {
            return None;
        }
        *byte = high << 4 | low;
    }
    if digits.next().is_some() {
        return None;
    }
    bytes[..8].reverse();
    bytes[8..].reverse();
    Some(bytes)
}

/// A hexadecimal digit's number; 255: it is none.
#[inline]
fn digit(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'f' => byte - b'a' + 10,
        b'A'..=b'F' => byte - b'A' + 10,
        _ => 0xFF,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_two_halves_each_turned_round() {
        let bytes = uuid(b"aa0e8400-e29b-41d4-A716-446655440000").unwrap();
        assert_eq!(bytes[..8], [0xD4, 0x41, 0x9B, 0xE2, 0x00, 0x84, 0x0E, 0xAA]);
        assert_eq!(bytes[8..], [0x00, 0x00, 0x44, 0x55, 0x66, 0x44, 0x16, 0xA7]);
        assert_eq!(uuid(b"aa0e8400e29b41d4a716446655440000"), Some(bytes));
        for wrong in
            ["", "aa0e8400-e29b-41d4-A716-44665544000", "aa0e8400-e29b-41d4-A716-4466554400000"]
        {
            assert_eq!(uuid(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(uuid(b"ga0e8400-e29b-41d4-A716-446655440000"), None);
    }
}
