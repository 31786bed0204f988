//! Values as literals of SQL.

use crate::{
    layout::{Slot, Wire as AnyWire},
    table::Column,
    value::{Cell, Meaning, fit::Form, hex},
};

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// A whole number, if it is a number.
    Whole,
    /// Digits, if it is a number.
    Number,
    /// The same, which the server reads as a double.
    Double,
    /// Text, whatever it is.
    Text,
    /// Bytes.
    Bytes,
    /// Digits of a bit field.
    Bits,
    /// A moment, in UTC.
    Moment,
}

/// How values of this meaning go into a column.
pub(crate) fn slot(column: &Column, _meaning: &Meaning) -> Slot {
    let wire = match &column.form {
        Form::Bool | Form::Int(..) => Wire::Whole,
        Form::Float32 { .. } | Form::Float64 { .. } => Wire::Double,
        Form::Decimal(_) | Form::Digits(_) => Wire::Number,
        Form::Bytes => Wire::Bytes,
        Form::Date(_) | Form::Time | Form::Timestamp(_) | Form::Zoned(_) => Wire::Moment,
        Form::Other if column.cast == "bit" => Wire::Bits,
        Form::Text | Form::Json | Form::Uuid | Form::Other => Wire::Text,
    };
    Slot {
        name: column.name.clone(),
        form: column.form.clone(),
        nullable: column.nullable,
        wire: AnyWire::Mysql(wire),
        stage: String::new(),
        cast: None,
    }
}

impl Wire {
    /// Appends a value's literal.
    ///
    /// Errors: the column would hold another value.
    pub(crate) fn write(self, cell: &Cell<'_>, out: &mut Vec<u8>) -> Result<(), String> {
        match (self, cell) {
            (Self::Text, Cell::Bytes(bytes)) => quoted(hex(bytes.as_slice()).as_bytes(), out),
            (_, Cell::Bytes(bytes)) => {
                out.extend_from_slice(b"X'");
                out.extend_from_slice(hex(bytes.as_slice()).as_bytes());
                out.push(b'\'');
            }
            (Self::Text, cell) => quoted(cell.text().as_bytes(), out),
            (Self::Bits, Cell::Text(bits))
                if bits.as_str().bytes().all(|bit| matches!(bit, b'0' | b'1')) =>
            {
                out.extend_from_slice(format!("b'{}'", bits.as_str()).as_bytes());
            }
            (_, Cell::Bool(flag)) => out.push(b'0' + u8::from(*flag)),
            (_, Cell::Int(number)) => out.extend_from_slice(number.to_string().as_bytes()),
            (_, Cell::Decimal(digits)) if is_number(digits.as_str()) => {
                out.extend_from_slice(digits.as_bytes());
            }
            (Self::Whole, Cell::Float32(_) | Cell::Float64(_))
                if cell.text().contains(['.', 'N', 'f']) =>
            {
                return Err(format!("{} is no whole number that the column holds", cell.text()));
            }
            (Self::Double, Cell::Float64(number)) => {
                out.extend_from_slice(format!("{number:e}").as_bytes());
            }
            (Self::Double, Cell::Float32(number)) => {
                out.extend_from_slice(format!("{number:e}").as_bytes());
            }
            (_, Cell::Zoned(micros)) => quoted(Cell::Timestamp(*micros).text().as_bytes(), out),
            (_, cell) => quoted(cell.text().as_bytes(), out),
        }
        Ok(())
    }

    /// A written value, for people.
    pub(crate) fn show(self, literal: &[u8]) -> String {
        String::from_utf8_lossy(literal).trim_matches('\'').to_owned()
    }
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
}

fn quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    let mut rest = text;
    while let Some(at) = memchr::memchr3(b'\'', b'\\', 0, rest) {
        let (plain, tail) = rest.split_at(at);
        out.extend_from_slice(plain);
        out.push(b'\\');
        if let Some((special, tail)) = tail.split_first() {
            out.push(if *special == 0 { b'0' } else { *special });
            rest = tail;
        }
    }
    out.extend_from_slice(rest);
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use lattice_core::value::Text;

    use super::*;

    fn literal(wire: Wire, cell: &Cell<'_>) -> String {
        let mut out = Vec::new();
        wire.write(cell, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts_stay_within_their_quotes() {
        let text = Cell::Text(Text::borrowed("it's \\' \0 -- ü"));
        assert_eq!(literal(Wire::Text, &text), r"'it\'s \\\' \0 -- ü'");
    }

    #[test]
    fn numbers_are_written_as_their_column_reads_them() {
        assert_eq!(literal(Wire::Number, &Cell::Decimal(Text::borrowed("-1.50"))), "-1.50");
        assert_eq!(literal(Wire::Double, &Cell::Float64(0.1)), "1e-1");
        assert_eq!(literal(Wire::Text, &Cell::Int(5)), "'5'");
        assert_eq!(literal(Wire::Moment, &Cell::Zoned(1)), "'1970-01-01 00:00:00.000001'");
        assert!(Wire::Whole.write(&Cell::Float64(1.5), &mut Vec::new()).is_err());
    }
}
