//! Events through the encoder, and back through the decoder.

mod support;

mod arbitrary;
mod documents;
mod envelope;
mod json;
mod roundtrip;
mod transforms;
