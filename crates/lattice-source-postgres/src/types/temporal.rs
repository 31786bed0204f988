//! Dates and times from PostgreSQL's ISO text, by hand: they are on the hot path.

use lattice_core::{
    calendar::{self, DAY_US},
    value::{Text, Value},
};

use super::decoder::BadValue;

/// `date` infinity: the ends of INT32, so that the sign is kept and no real date is hit (the
/// last one is 2145042905).
const DATE_INFINITY: (i64, i64) = (i32::MAX as i64, i32::MIN as i64);

/// `timestamp` infinity. Units: µs. Source: Debezium (the driver's sentinel instants).
const TIMESTAMP_INFINITY: (i64, i64) = (9_223_372_036_825_200_000, -9_223_372_036_832_400_000);

/// In what form a time or timestamp goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// ms
    Millis,
    /// µs
    Micros,
    /// ns
    Nanos,
    /// ISO text
    Iso,
}

/// A date and time of the day as they stand in the text.
struct Stamp {
    /// Astronomical: 0 is 1 BC.
    year: i64,
    month: i64,
    day: i64,
    /// Units: µs of the day.
    time_us: i64,
    /// Units: s east of Greenwich.
    offset_s: i64,
}

/// Reads digits and separators of one text.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn number(&mut self) -> Result<i64, BadValue> {
        let start = self.at;
        let mut number: i64 = 0;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            if self.at - start >= 18 {
                return Err(BadValue("a number too long"));
            }
            number = number * 10 + i64::from(digit - b'0');
            self.at += 1;
        }
        if self.at == start { Err(BadValue("not a date or time")) } else { Ok(number) }
    }

    fn time_us(&mut self) -> Result<i64, BadValue> {
        let hours = self.number()?;
        let minutes = if self.eat(b':') { self.number()? } else { 0 };
        let seconds = if self.eat(b':') { self.number()? } else { 0 };
        if hours > 24 || minutes > 59 || seconds > 60 {
            return Err(BadValue("not a time"));
        }
        let mut fraction = 0;
        if self.eat(b'.') {
            let start = self.at;
            fraction = self.number()?;
            for _ in (self.at - start)..6 {
                fraction *= 10;
            }
            if self.at - start > 6 {
                return Err(BadValue("more than six digits of a second"));
            }
        }
        Ok((hours * 3600 + minutes * 60 + seconds) * 1_000_000 + fraction)
    }

    /// `+02`, `-03:30`, `-15:59:59`, or nothing.
    fn offset_s(&mut self) -> Result<i64, BadValue> {
        let sign = match self.peek() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Ok(0),
        };
        self.at += 1;
        Ok(sign * (self.time_us()? / 1_000_000))
    }
}

fn parse_stamp(text: &[u8]) -> Result<Stamp, BadValue> {
    let (body, bc) = match text.strip_suffix(b" BC") {
        Some(body) => (body, true),
        None => (text, false),
    };
    let mut cursor = Cursor { text: body, at: 0 };
    let year = cursor.number()?;
    if !cursor.eat(b'-') {
        return Err(BadValue("not a date"));
    }
    let month = cursor.number()?;
    if !cursor.eat(b'-') {
        return Err(BadValue("not a date"));
    }
    let day = cursor.number()?;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year > 10_000_000 {
        return Err(BadValue("not a date"));
    }
    let time_us = if cursor.eat(b' ') { cursor.time_us()? } else { 0 };
    let offset_s = cursor.offset_s()?;
    if cursor.at != body.len() {
        return Err(BadValue("not a date or time"));
    }
    Ok(Stamp { year: if bc { 1 - year } else { year }, month, day, time_us, offset_s })
}

impl Stamp {
    /// Units: µs since the Unix epoch, in UTC. Wide, since PostgreSQL's range is wider than i64's
    /// since 1970.
    fn epoch_us(&self) -> i128 {
        let days = calendar::days(self.year, self.month, self.day);
        i128::from(days) * i128::from(DAY_US) + i128::from(self.time_us)
            - i128::from(self.offset_s) * 1_000_000
    }
}

fn infinity(text: &[u8]) -> Option<bool> {
    match text {
        b"infinity" => Some(true),
        b"-infinity" => Some(false),
        _ => None,
    }
}

fn pick(positive: bool, pair: (i64, i64)) -> i64 {
    if positive { pair.0 } else { pair.1 }
}

/// `date`.
pub(super) fn date(text: &[u8], iso: bool) -> Result<Value<'static>, BadValue> {
    if let Some(positive) = infinity(text) {
        let days = pick(positive, DATE_INFINITY);
        let word = if positive { "infinity" } else { "-infinity" };
        return Ok(if iso { Value::text(word) } else { Value::Int(days) });
    }
    let stamp = parse_stamp(text)?;
    if iso {
        let mut out = Out::default();
        out.date(stamp.year, stamp.month, stamp.day);
        out.push(b'Z');
        return Ok(out.value());
    }
    Ok(Value::Int(calendar::days(stamp.year, stamp.month, stamp.day)))
}

/// `time`.
pub(super) fn time(text: &[u8], unit: Unit) -> Result<Value<'static>, BadValue> {
    let mut cursor = Cursor { text, at: 0 };
    let us = cursor.time_us()?;
    if cursor.at != text.len() {
        return Err(BadValue("not a time"));
    }
    Ok(match unit {
        Unit::Millis => Value::Int(us / 1000),
        Unit::Micros => Value::Int(us),
        Unit::Nanos => Value::Int(us * 1000),
        Unit::Iso => {
            let mut out = Out::default();
            out.time(us, None);
            out.push(b'Z');
            out.value()
        }
    })
}

/// `timestamp`.
pub(super) fn timestamp(text: &[u8], unit: Unit) -> Result<Value<'static>, BadValue> {
    if let Some(positive) = infinity(text) {
        let us = pick(positive, TIMESTAMP_INFINITY);
        return Ok(match unit {
            Unit::Millis => Value::Int(us / 1000),
            Unit::Micros => Value::Int(us),
            Unit::Nanos => Value::Int(if positive { i64::MAX } else { i64::MIN }),
            Unit::Iso if positive => Value::text("+294247-01-10T04:00:25.2Z"),
            Unit::Iso => Value::text("-290308-12-21T19:59:27.6Z"),
        });
    }
    let stamp = parse_stamp(text)?;
    let us = stamp.epoch_us();
    let number = match unit {
        Unit::Millis => us.div_euclid(1000),
        Unit::Micros => us,
        Unit::Nanos => us * 1000,
        Unit::Iso => {
            let mut out = Out::default();
            out.date(stamp.year, stamp.month, stamp.day);
            out.push(b'T');
            out.time(stamp.time_us, None);
            out.push(b'Z');
            return Ok(out.value());
        }
    };
    i64::try_from(number)
        .map(Value::Int)
        .map_err(|_| BadValue("a timestamp outside the range of 64 bits since 1970"))
}

/// `timestamptz`: ISO text in UTC with exactly `digits` digits of a second.
pub(super) fn timestamptz(text: &[u8], digits: u8) -> Result<Value<'static>, BadValue> {
    if let Some(positive) = infinity(text) {
        return Ok(Value::text(if positive { "infinity" } else { "-infinity" }));
    }
    let mut stamp = parse_stamp(text)?;
    if stamp.offset_s != 0 {
        let us = stamp.epoch_us();
        let days = us.div_euclid(i128::from(DAY_US));
        let days = i64::try_from(days).map_err(|_| BadValue("a timestamp out of range"))?;
        stamp.time_us = i64::try_from(us.rem_euclid(i128::from(DAY_US))).unwrap_or(0);
        (stamp.year, stamp.month, stamp.day) = calendar::civil(days);
    }
    let mut out = Out::default();
    out.date(stamp.year, stamp.month, stamp.day);
    out.push(b'T');
    out.time(stamp.time_us, Some(digits));
    out.push(b'Z');
    Ok(out.value())
}

/// `timetz`: ISO text in UTC with as many digits of a second as are needed.
pub(super) fn timetz(text: &[u8]) -> Result<Value<'static>, BadValue> {
    let mut cursor = Cursor { text, at: 0 };
    let time = cursor.time_us()?;
    let offset = cursor.offset_s()?;
    if cursor.at != text.len() {
        return Err(BadValue("not a time"));
    }
    let us = if offset == 0 { time } else { (time - offset * 1_000_000).rem_euclid(DAY_US) };
    let mut out = Out::default();
    out.time(us, None);
    out.push(b'Z');
    Ok(out.value())
}

/// Years, months, days, and µs of an interval in ISO 8601 style, as PostgreSQL writes it.
fn parse_interval(text: &[u8]) -> Result<([i64; 5], i64), BadValue> {
    let mut cursor = Cursor { text, at: 0 };
    if !cursor.eat(b'P') {
        return Err(BadValue("not an interval"));
    }
    let (mut parts, mut us, mut of_day) = ([0; 5], 0, false);
    while cursor.at < text.len() {
        if cursor.eat(b'T') {
            of_day = true;
            continue;
        }
        let sign = if cursor.eat(b'-') { -1 } else { 1 };
        let number = cursor.number()?;
        let mut fraction = 0;
        if cursor.eat(b'.') {
            let start = cursor.at;
            fraction = cursor.number()?;
            for _ in (cursor.at - start)..6 {
                fraction *= 10;
            }
        }
        let slot = match (cursor.peek(), of_day) {
            (Some(b'Y'), false) => 0,
            (Some(b'M'), false) => 1,
            (Some(b'D'), false) => 2,
            (Some(b'H'), true) => 3,
            (Some(b'M'), true) => 4,
            (Some(b'S'), true) => {
                us = sign * (number * 1_000_000 + fraction);
                cursor.at += 1;
                continue;
            }
            _ => return Err(BadValue("not an interval")),
        };
        cursor.at += 1;
        if let Some(part) = parts.get_mut(slot) {
            *part = sign * number;
        }
    }
    Ok((parts, us))
}

/// `interval` as text with all parts, or as approximate µs.
pub(super) fn interval(text: &[u8], as_text: bool) -> Result<Value<'static>, BadValue> {
    // PostgreSQL 17 has them.
    if let Some(positive) = infinity(text) {
        let word = if positive { "infinity" } else { "-infinity" };
        let us = if positive { i64::MAX } else { i64::MIN };
        return Ok(if as_text { Value::text(word) } else { Value::Int(us) });
    }
    let ([years, months, days, hours, minutes], us) = parse_interval(text)?;
    if as_text {
        let sign = if us < 0 { "-" } else { "" };
        let (seconds, fraction) = (us.abs() / 1_000_000, us.abs() % 1_000_000);
        let fraction = format!(".{fraction:06}");
        let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
        let text =
            format!("P{years}Y{months}M{days}DT{hours}H{minutes}M{sign}{seconds}{fraction}S");
        return Ok(Value::Text(Text::owned(text)));
    }
    // Debezium's arithmetic, in doubles: an average month has 30.4375 days.
    #[allow(clippy::cast_precision_loss)]
    let (months, days) = ((years * 12 + months) as f64, days as f64);
    #[allow(clippy::cast_precision_loss)]
    let seconds = (hours * 3600 + minutes * 60) as f64 + us as f64 / 1e6;
    #[allow(clippy::cast_possible_truncation)] // saturates
    Ok(Value::Int((((months * 30.4375 + days) * 86_400.0 + seconds) * 1e6) as i64))
}

/// A short text on the stack.
struct Out {
    bytes: [u8; 40],
    len: usize,
}

impl Default for Out {
    fn default() -> Self {
        Self { bytes: [0; 40], len: 0 }
    }
}

impl Out {
    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    /// At least `width` digits.
    fn digits(&mut self, number: i64, width: usize) {
        let mut digits = [0; 20];
        let (mut rest, mut count) = (number.unsigned_abs(), 0);
        while (rest > 0 || count < width) && count < digits.len() {
            #[allow(clippy::cast_possible_truncation)] // below 10
            let digit = b'0' + (rest % 10) as u8;
            digits[count] = digit;
            rest /= 10;
            count += 1;
        }
        for digit in digits[..count].iter().rev() {
            self.push(*digit);
        }
    }

    /// Java's rule: a sign before negative years and before those of more than four digits.
    fn date(&mut self, year: i64, month: i64, day: i64) {
        if year < 0 {
            self.push(b'-');
        } else if year > 9999 {
            self.push(b'+');
        }
        self.digits(year, 4);
        self.push(b'-');
        self.digits(month, 2);
        self.push(b'-');
        self.digits(day, 2);
    }

    /// `fraction`: how many digits of a second; `None`: as many as are needed.
    fn time(&mut self, us: i64, fraction: Option<u8>) {
        let seconds = us / 1_000_000;
        self.digits(seconds / 3600, 2);
        self.push(b':');
        self.digits(seconds / 60 % 60, 2);
        self.push(b':');
        self.digits(seconds % 60, 2);
        let mut rest = us % 1_000_000;
        let mut width = 6;
        match fraction {
            Some(digits) => {
                for _ in digits..6 {
                    rest /= 10;
                    width -= 1;
                }
            }
            None => {
                while width > 0 && rest % 10 == 0 {
                    rest /= 10;
                    width -= 1;
                }
            }
        }
        if width > 0 {
            self.push(b'.');
            self.digits(rest, width);
        }
    }

    fn value(&self) -> Value<'static> {
        let text = std::str::from_utf8(self.bytes.get(..self.len).unwrap_or(&[])).unwrap_or("");
        Value::Text(Text::copied(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: Result<Value<'static>, BadValue>) -> i64 {
        match value {
            Ok(Value::Int(number)) => number,
            other => panic!("not a number: {other:?}"),
        }
    }

    fn text(value: Result<Value<'static>, BadValue>) -> String {
        match value {
            Ok(Value::Text(text)) => text.as_str().to_owned(),
            other => panic!("not a text: {other:?}"),
        }
    }

    #[test]
    fn dates_before_christ_and_far_ones_and_infinity() {
        assert_eq!(int(date(b"1970-01-01", false)), 0);
        assert_eq!(int(date(b"0044-03-15 BC", false)), -735_160);
        assert_eq!(int(date(b"5874897-12-31", false)), 2_145_042_905);
        assert_eq!(int(date(b"infinity", false)), i64::from(i32::MAX));
        assert_eq!(int(date(b"-infinity", false)), i64::from(i32::MIN));
        assert_eq!(text(date(b"2017-09-15", true)), "2017-09-15Z");
    }

    #[test]
    fn timestamps_keep_their_range_or_say_so() {
        assert_eq!(int(timestamp(b"0001-01-01 00:00:00", Unit::Micros)), -62_135_596_800_000_000);
        assert_eq!(int(timestamp(b"infinity", Unit::Micros)), 9_223_372_036_825_200_000);
        assert_eq!(int(timestamp(b"1969-12-31 23:59:59.9995", Unit::Millis)), -1);
        assert!(timestamp(b"294276-12-31 23:59:59.999999", Unit::Micros).is_err());
    }

    #[test]
    fn timestamps_with_a_zone_are_printed_in_utc() {
        let utc = |literal: &str, digits| text(timestamptz(literal.as_bytes(), digits));
        assert_eq!(utc("2016-11-04 11:51:30.123456+00", 6), "2016-11-04T11:51:30.123456Z");
        assert_eq!(utc("2016-11-04 13:51:30+02", 3), "2016-11-04T11:51:30.000Z");
        assert_eq!(utc("2016-11-04 13:51:30+02", 0), "2016-11-04T11:51:30Z");
        assert_eq!(utc("12345-01-01 00:00:00+00", 6), "+12345-01-01T00:00:00.000000Z");
        assert_eq!(utc("0044-03-15 00:00:00+00 BC", 6), "-0043-03-15T00:00:00.000000Z");
        assert_eq!(utc("2016-01-01 00:30:00+01", 0), "2015-12-31T23:30:00Z");
    }

    #[test]
    fn times_of_the_day() {
        assert_eq!(int(time(b"24:00:00", Unit::Micros)), 86_400_000_000);
        assert_eq!(int(time(b"04:05:11.789", Unit::Millis)), 14_711_789);
        assert_eq!(text(timetz(b"13:51:30.123789+02")), "11:51:30.123789Z");
        assert_eq!(text(timetz(b"24:00:00+00")), "24:00:00Z");
        assert_eq!(text(timetz(b"00:00:00-15:59:59")), "15:59:59Z");
    }

    #[test]
    fn intervals_as_text_and_as_microseconds() {
        assert_eq!(text(interval(b"P1Y2M3DT4H5M6.78S", true)), "P1Y2M3DT4H5M6.78S");
        assert_eq!(text(interval(b"PT0S", true)), "P0Y0M0DT0H0M0S");
        assert_eq!(text(interval(b"P-1DT-0.5S", true)), "P0Y0M-1DT0H0M-0.5S");
        assert_eq!(int(interval(b"P1DT1S", false)), 86_401_000_000);
    }
}
