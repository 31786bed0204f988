//! Reads big-endian numbers and zero-ended strings from a slice, never beyond its end.

/// The bytes ended too early, or are not what the protocol says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(
    /// What was being read.
    pub &'static str,
);

impl std::fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "malformed message from the server: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// A cursor over a message's body.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the start of `data`.
    #[must_use]
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0 }
    }

    /// How many bytes were read.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// What is left.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..).unwrap_or(&[])
    }

    /// Takes `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(len).ok_or(Malformed("length"))?;
        let bytes = self.data.get(self.at..end).ok_or(Malformed("message ends too early"))?;
        self.at = end;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// Takes one byte.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// Takes a 16-bit number.
    pub fn i16(&mut self) -> Result<i16, Malformed> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    /// Takes a 32-bit number.
    pub fn i32(&mut self) -> Result<i32, Malformed> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// Takes an unsigned 32-bit number.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Takes a 64-bit number.
    pub fn i64(&mut self) -> Result<i64, Malformed> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// Takes an unsigned 64-bit number.
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// Takes a zero-ended string; bytes that are not UTF-8 are an error.
    pub fn cstr(&mut self) -> Result<&'a str, Malformed> {
        let len = memchr::memchr(0, self.rest()).ok_or(Malformed("string without end"))?;
        let bytes = self.take(len)?;
        self.at += 1;
        std::str::from_utf8(bytes).map_err(|_| Malformed("text is not UTF-8"))
    }
}
