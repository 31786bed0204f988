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
    let mut number = 0u128;
    let mut digits = 0;
    for byte in text {
        if *byte == b'-' {
            continue;
        }
        number = (number << 4) | u128::from(char::from(*byte).to_digit(16)?);
        digits += 1;
    }
    if digits != 32 {
        return None;
    }
    let mut bytes = number.to_be_bytes();
    bytes[..8].reverse();
    bytes[8..].reverse();
    Some(bytes)
}
