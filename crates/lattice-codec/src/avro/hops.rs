//! Past a run of values without reading them.

use super::read::{Damage, Input, Reader};

/// How one goes past the values of several readers, in one loop.
#[derive(Debug, Default)]
pub(crate) struct Hops(Vec<Hop>);

#[derive(Debug)]
enum Hop {
    Varint,
    Fixed(usize),
    Bytes,
    /// An optional value of one of these; the branch that has it.
    OptionalVarint(u8),
    OptionalFixed(u8, usize),
    OptionalBytes(u8),
    Other(Reader),
}

impl Hops {
    /// Goes past one value more.
    pub(crate) fn push(&mut self, reader: Reader) {
        if let Reader::Record(fields) = reader {
            fields.into_iter().for_each(|field| self.push(field));
            return;
        }
        let hop = match (&reader, simple(&reader)) {
            (Reader::Null, _) => return,
            (_, Some(hop)) => hop,
            (Reader::Optional(branch, inner), None) => match simple(inner) {
                Some(Hop::Varint) => Hop::OptionalVarint(*branch),
                Some(Hop::Fixed(size)) => Hop::OptionalFixed(*branch, size),
                Some(Hop::Bytes) => Hop::OptionalBytes(*branch),
                _ => Hop::Other(reader),
            },
            _ => Hop::Other(reader),
        };
        self.0.push(hop);
    }

    /// Goes past the values.
    pub(crate) fn skip(&self, input: &mut Input<'_>) -> Result<(), Damage> {
        for hop in &self.0 {
            match hop {
                Hop::Varint => input.skip_long()?,
                Hop::Fixed(size) => {
                    input.take(*size)?;
                }
                Hop::Bytes => {
                    input.bytes()?;
                }
                Hop::OptionalVarint(branch) => {
                    if input.optional(*branch)? {
                        input.skip_long()?;
                    }
                }
                Hop::OptionalFixed(branch, size) => {
                    if input.optional(*branch)? {
                        input.take(*size)?;
                    }
                }
                Hop::OptionalBytes(branch) => {
                    if input.optional(*branch)? {
                        input.bytes()?;
                    }
                }
                Hop::Other(reader) => reader.skip(input)?,
            }
        }
        Ok(())
    }
}

fn simple(reader: &Reader) -> Option<Hop> {
    Some(match reader {
        Reader::Int | Reader::Long | Reader::Enum(_) => Hop::Varint,
        Reader::Bool => Hop::Fixed(1),
        Reader::Float => Hop::Fixed(4),
        Reader::Double => Hop::Fixed(8),
        Reader::Fixed(size) => Hop::Fixed(*size),
        Reader::Bytes | Reader::Text => Hop::Bytes,
        _ => return None,
    })
}
