//! Java's default partitioner, so that a key goes where Kafka's own producer would put it.

/// MurmurHash2 with Kafka's seed.
///
/// Source: `org.apache.kafka.common.utils.Utils.murmur2`.
#[must_use]
pub fn murmur2(data: &[u8]) -> i32 {
    const M: u32 = 0x5bd1_e995;
    const SEED: u32 = 0x9747_b28c;
    let mut hash = SEED ^ data.len() as u32;
    let mut words = data.chunks_exact(4);
    for word in &mut words {
        let mut k = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    let rest = words.remainder();
    for (index, byte) in rest.iter().enumerate() {
        hash ^= u32::from(*byte) << (8 * index);
    }
    if !rest.is_empty() {
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    (hash ^ (hash >> 15)) as i32
}

/// The partition of a key among `partitions` (at least 1).
#[must_use]
pub fn partition_of_key(key: &[u8], partitions: i32) -> i32 {
    (murmur2(key) & i32::MAX) % partitions.max(1)
}
