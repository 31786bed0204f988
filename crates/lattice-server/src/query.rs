//! Query parameters, read as JAX-RS does: the first of a name counts, unless all are asked for.

use std::borrow::Cow;

/// All values of a parameter, in order. A parameter without `=` has the empty value.
pub(crate) fn values<'q>(
    query: Option<&'q str>,
    name: &'q str,
) -> impl Iterator<Item = Cow<'q, str>> + 'q {
    let pairs = query.unwrap_or_default().split('&');
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.filter(move |(key, _)| decoded(key) == name).map(|(_, value)| decoded(value))
}

/// The first value of a parameter.
pub(crate) fn value<'q>(query: Option<&'q str>, name: &'q str) -> Option<Cow<'q, str>> {
    values(query, name).next()
}

/// Whether a parameter is true; anything but `true` is false, as for Java's `Boolean.valueOf`.
pub(crate) fn flag(query: Option<&str>, name: &str) -> bool {
    value(query, name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match (first, hex.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            (other, _) => bytes.push(*other),
        }
        rest = tail;
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_may_be_repeated() {
        let query = Some("expand=info&x=a%20b+c&expand=status&flag");
        assert_eq!(values(query, "expand").collect::<Vec<_>>(), ["info", "status"]);
        assert_eq!(value(query, "x").as_deref(), Some("a b c"));
        assert_eq!(value(query, "flag").as_deref(), Some(""));
        assert!(!flag(query, "flag") && flag(Some("a=TRUE"), "a"));
    }
}
