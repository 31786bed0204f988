//! Whether a value fits its column, and what becomes of it if not.

use lattice_core::{calendar::DAY_US, value::Text};

use super::{Cell, decimal};
use crate::config::OutOfRange;

/// What a column holds, as far as every database has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Form {
    Bool,
    /// From, to (inclusive).
    Int(i128, i128),
    /// Whether it holds NaN, and whether infinities.
    Float32 {
        nan: bool,
        infinite: bool,
    },
    Float64 {
        nan: bool,
        infinite: bool,
    },
    /// Digits before and after the point; `None`: any number.
    Decimal(Option<(u32, u32)>),
    /// At most so many significant digits, since the column makes doubles of decimals.
    Digits(u32),
    Text,
    Bytes,
    Date(Range),
    Time,
    Timestamp(Range),
    /// In UTC.
    Zoned(Range),
    Json,
    Uuid,
    /// Anything that the database reads from text.
    Other,
}

/// Moments that a column holds. Units: days since 1970 for dates, else µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    pub(crate) low: i64,
    pub(crate) high: i64,
    pub(crate) infinite: bool,
}

impl Range {
    /// The years from 1 January of the first to 31 December of the last, in days.
    pub(crate) const fn days(low: i64, high: i64, infinite: bool) -> Self {
        Self { low, high, infinite }
    }

    fn misfit(&self, at: i64) -> Option<Option<i64>> {
        match at {
            i64::MAX | i64::MIN if self.infinite => None,
            at if at < self.low => Some(Some(self.low)),
            at if at > self.high => Some(Some(self.high)),
            _ => None,
        }
    }
}

/// A value that does not fit: the nearest that does, and why.
struct Misfit<'a>(Option<Cell<'a>>, String);

/// The value as the column takes it.
///
/// Errors: why it cannot be written.
pub(crate) fn fit<'a>(
    form: &Form,
    cell: Cell<'a>,
    policy: OutOfRange,
    nullable: bool,
) -> Result<Cell<'a>, String> {
    match check(form, cell) {
        Ok(cell) => Ok(cell),
        Err(Misfit(nearest, why)) => match (policy, nearest) {
            (OutOfRange::Clamp, Some(nearest)) => Ok(nearest),
            (OutOfRange::Clamp | OutOfRange::Null, _) if nullable => Ok(Cell::Null),
            _ => Err(why),
        },
    }
}

fn check<'a>(form: &Form, cell: Cell<'a>) -> Result<Cell<'a>, Misfit<'a>> {
    match (form, cell) {
        (_, Cell::Null) => Ok(Cell::Null),
        (Form::Int(low, high), cell @ (Cell::Int(_) | Cell::Bool(_) | Cell::Decimal(_))) => {
            integer(*low, *high, cell)
        }
        (Form::Float32 { nan, infinite } | Form::Float64 { nan, infinite }, cell) => {
            float(matches!(form, Form::Float32 { .. }), *nan, *infinite, cell)
        }
        (Form::Decimal(limits), cell) => number(*limits, cell),
        (Form::Digits(most), Cell::Decimal(text)) => {
            let significant = decimal::parts(text.as_str()).map_or(0, |(_, whole, fraction)| {
                format!("{whole}{fraction}").trim_matches('0').len()
            });
            if significant > *most as usize {
                let why = format!(
                    "{} has more than {most} digits, and the column keeps no more",
                    text.as_str()
                );
                return Err(Misfit(None, why));
            }
            Ok(Cell::Decimal(text))
        }
        (Form::Date(range), Cell::Date(days)) => moment(range, days, Cell::Date),
        (Form::Date(range), Cell::Timestamp(us) | Cell::Zoned(us)) => {
            moment(range, Cell::days(us), Cell::Date)
        }
        (Form::Timestamp(range) | Form::Zoned(range), Cell::Timestamp(us)) => {
            moment(range, us, Cell::Timestamp)
        }
        (Form::Timestamp(range) | Form::Zoned(range), Cell::Zoned(us)) => {
            moment(range, us, Cell::Zoned)
        }
        (Form::Timestamp(range) | Form::Zoned(range), Cell::Date(days)) => {
            moment(range, days.saturating_mul(DAY_US), Cell::Timestamp)
        }
        (_, cell) => Ok(cell),
    }
}

fn integer(low: i128, high: i128, cell: Cell<'_>) -> Result<Cell<'_>, Misfit<'_>> {
    let whole = match &cell {
        Cell::Int(number) => Some(i128::from(*number)),
        Cell::Bool(flag) => Some(i128::from(*flag)),
        Cell::Decimal(text) => match decimal::parts(text.as_str()) {
            Some((negative, whole, "")) => {
                let magnitude = if whole.is_empty() { Some(0) } else { whole.parse::<i128>().ok() };
                magnitude.map(|number| if negative { -number } else { number })
            }
            _ => None,
        },
        _ => None,
    };
    let as_cell = |number: i128| match i64::try_from(number) {
        Ok(number) => Cell::Int(number),
        Err(_) => Cell::Decimal(Text::owned(number.to_string())),
    };
    match whole {
        Some(number) if (low..=high).contains(&number) => Ok(as_cell(number)),
        Some(number) => Err(Misfit(
            Some(as_cell(number.clamp(low, high))),
            format!("{number} is outside of the column's {low} to {high}"),
        )),
        None => {
            let why = format!("{} is no whole number that the column holds", cell.text());
            Err(Misfit(None, why))
        }
    }
}

fn float(single: bool, nan: bool, infinite: bool, cell: Cell<'_>) -> Result<Cell<'_>, Misfit<'_>> {
    let number = match &cell {
        Cell::Float32(number) => f64::from(*number),
        Cell::Float64(number) => *number,
        _ => return Ok(cell),
    };
    if number.is_nan() && !nan || number.is_infinite() && !infinite {
        let why = format!("the column holds no {}", cell.text());
        return Err(Misfit(None, why));
    }
    #[allow(clippy::cast_possible_truncation)] // that is the question
    let narrowed = number as f32;
    if single && number.is_finite() && narrowed.is_infinite() {
        let nearest = Cell::Float32(f32::MAX.copysign(narrowed));
        return Err(Misfit(
            Some(nearest),
            format!("the column of single precision cannot hold {number}"),
        ));
    }
    Ok(cell)
}

fn number(limits: Option<(u32, u32)>, cell: Cell<'_>) -> Result<Cell<'_>, Misfit<'_>> {
    let Some((before, after)) = limits else { return Ok(cell) };
    let text = match &cell {
        Cell::Int(number) => number.to_string(),
        Cell::Decimal(text) | Cell::Text(text) => text.as_str().to_owned(),
        Cell::Float64(number) => number.to_string(),
        Cell::Float32(number) => number.to_string(),
        _ => return Ok(cell),
    };
    let Some((negative, whole, fraction)) = decimal::parts(&text) else {
        // NaN and infinity: only columns without limits may hold them.
        return Err(Misfit(None, format!("the column holds no {text}")));
    };
    let (before, after) = (before as usize, after as usize);
    let sign = if negative { "-" } else { "" };
    if whole.len() > before {
        let fill = |count: usize| "9".repeat(count);
        let point = if after > 0 { "." } else { "" };
        let nearest = format!(
            "{sign}{}{point}{}",
            if before == 0 { "0".to_owned() } else { fill(before) },
            fill(after)
        );
        let why = format!("{text} has more than the column's {before} digits before the point");
        return Err(Misfit(Some(Cell::Decimal(Text::owned(nearest))), why));
    }
    if fraction.len() > after {
        let kept = fraction.get(..after).unwrap_or_default();
        let point = if after > 0 { "." } else { "" };
        let whole = if whole.is_empty() { "0" } else { whole };
        let nearest = Cell::Decimal(Text::owned(format!("{sign}{whole}{point}{kept}")));
        let why = format!("{text} has more than the column's {after} digits after the point");
        return Err(Misfit(Some(nearest), why));
    }
    Ok(cell)
}

fn moment<'a>(range: &Range, at: i64, make: fn(i64) -> Cell<'a>) -> Result<Cell<'a>, Misfit<'a>> {
    match range.misfit(at) {
        None => Ok(make(at)),
        Some(nearest) => {
            let why = format!("{} is outside of what the column holds", make(at).text());
            Err(Misfit(nearest.map(make), why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Cell<'static> {
        Cell::Decimal(Text::owned(text.to_owned()))
    }

    #[test]
    fn what_does_not_fit_is_rejected_nulled_or_clamped_as_asked() {
        let small = Form::Int(-128, 127);
        assert_eq!(fit(&small, Cell::Int(127), OutOfRange::Reject, false), Ok(Cell::Int(127)));
        assert!(fit(&small, Cell::Int(128), OutOfRange::Reject, true).is_err());
        assert_eq!(fit(&small, Cell::Int(128), OutOfRange::Null, true), Ok(Cell::Null));
        assert!(fit(&small, Cell::Int(128), OutOfRange::Null, false).is_err());
        assert_eq!(fit(&small, Cell::Int(128), OutOfRange::Clamp, false), Ok(Cell::Int(127)));
        let money = Form::Decimal(Some((3, 2)));
        assert_eq!(fit(&money, text("-999.990"), OutOfRange::Reject, true), Ok(text("-999.990")));
        assert_eq!(fit(&money, text("-1000"), OutOfRange::Clamp, true), Ok(text("-999.99")));
        assert_eq!(fit(&money, text("1.239"), OutOfRange::Clamp, true), Ok(text("1.23")));
        assert!(fit(&money, text("1.239"), OutOfRange::Reject, true).is_err());
        assert_eq!(fit(&money, text("NaN"), OutOfRange::Clamp, true), Ok(Cell::Null));
        let big = Form::Int(0, i128::from(u64::MAX));
        let max = "18446744073709551615";
        assert_eq!(fit(&big, text(max), OutOfRange::Reject, true), Ok(text(max)));
    }

    #[test]
    fn infinity_is_kept_only_where_it_exists() {
        let days = Range::days(-719_162, 2_932_896, false);
        let out = fit(&Form::Date(days), Cell::Date(i64::MAX), OutOfRange::Clamp, true);
        assert_eq!(out, Ok(Cell::Date(2_932_896)));
        let range = Range { infinite: true, ..days };
        let kept = fit(&Form::Timestamp(range), Cell::Zoned(i64::MIN), OutOfRange::Reject, true);
        assert_eq!(kept, Ok(Cell::Zoned(i64::MIN)));
    }
}
