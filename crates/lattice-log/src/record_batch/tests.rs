use bytes::Bytes;
use lattice_core::record::{RecordRef, RecordSink};
use proptest::prelude::*;

use super::*;
use crate::log::EncodedBatch;

fn build(compression: Compression, records: &[RecordRef<'_>]) -> Vec<EncodedBatch> {
    let mut builder = BatchSetBuilder::new(Box::new(|_| 1), compression);
    let topic = builder.topic("t");
    for record in records {
        builder.append(topic, None, *record);
    }
    builder.finish().into_iter().map(|batch| batch.compress().unwrap()).collect()
}

fn restamp(bytes: &[u8], base_offset: i64) -> Bytes {
    let mut bytes = bytes.to_vec();
    bytes[..8].copy_from_slice(&base_offset.to_be_bytes());
    bytes.into()
}

/// Gives bytes the checksum and length they should have, so that a test gets past both.
fn reseal(mut bytes: Vec<u8>) -> Bytes {
    let length = (bytes.len() - at::LEADER_EPOCH) as i32;
    bytes[at::LENGTH..at::LENGTH + 4].copy_from_slice(&length.to_be_bytes());
    let crc = crc32c::crc32c(&bytes[at::ATTRIBUTES..]);
    bytes[at::CRC..at::CRC + 4].copy_from_slice(&crc.to_be_bytes());
    bytes.into()
}

#[test]
fn the_bytes_are_kafkas() {
    let headers: [(&str, Option<&[u8]>); 2] = [("h", Some(b"x")), ("n", None)];
    let first = RecordRef {
        key: Some(b"k"),
        value: Some(b"value"),
        headers: &headers,
        timestamp_ms: 1_700_000_000_000,
    };
    let second = RecordRef { key: Some(b"k"), timestamp_ms: 1_700_000_000_100, ..first };
    let second = RecordRef { value: None, headers: &[], ..second };
    let bytes = build(Compression::None, &[first, second]).remove(0).bytes;
    let records = b"\x26\x00\x00\x00\x02k\x0avalue\x04\x02h\x02x\x02n\x01\
        \x10\x00\xc8\x01\x02\x02k\x01\x00";
    let mut expected = Vec::new();
    expected.extend(0_i64.to_be_bytes());
    expected.extend(((HEADER_BYTES - 12 + records.len()) as i32).to_be_bytes());
    expected.extend((-1_i32).to_be_bytes());
    expected.push(2);
    expected.extend(&bytes[at::CRC..at::ATTRIBUTES]);
    expected.extend([0, 0]);
    expected.extend(1_i32.to_be_bytes());
    expected.extend(1_700_000_000_000_i64.to_be_bytes());
    expected.extend(1_700_000_000_100_i64.to_be_bytes());
    expected.extend([0xff; 14]);
    expected.extend(2_i32.to_be_bytes());
    expected.extend(records);
    assert_eq!(bytes[..], expected[..]);
}

#[test]
fn the_checksum_is_castagnolis() {
    assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
}

/// Values of Kafka's own `UtilsTest.testMurmur2`.
#[test]
fn murmur2_is_javas() {
    let cases: [(&[u8], i32); 6] = [
        (b"21", -973_932_308),
        (b"foobar", -790_332_482),
        (b"a-little-bit-long-string", -985_981_536),
        (b"a-little-bit-longer-string", -1_486_304_829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        (b"abc", 479_470_107),
    ];
    for (key, expected) in cases {
        assert_eq!(murmur2(key), expected, "{}", String::from_utf8_lossy(key));
    }
}

#[test]
fn varints_come_back_and_know_their_length() {
    for value in [0, -1, 1, 63, 64, -64, -65, 8191, 8192, i64::MAX, i64::MIN, i64::from(i32::MIN)] {
        let mut out = Vec::new();
        varint::put(&mut out, value);
        assert_eq!(out.len(), varint::len(value), "{value}");
        let mut at = 0;
        assert_eq!(varint::get(&out, &mut at), Some(value));
        assert_eq!(at, out.len());
        assert_eq!(varint::get(&out[..out.len() - 1], &mut 0), None);
    }
    assert_eq!(varint::get(&[0xff; 11], &mut 0), None);
}

#[test]
fn a_key_stays_on_its_partition_and_a_given_partition_is_kept() {
    let mut builder = BatchSetBuilder::new(Box::new(|_| 8), Compression::None);
    let topic = builder.topic("t");
    let record = RecordRef { key: Some(b"21"), ..RecordRef::default() };
    for _ in 0..3 {
        builder.append(topic, None, record);
    }
    builder.append(topic, Some(5), record);
    assert_eq!(builder.records(), 4);
    let of: Vec<_> =
        builder.finish().iter().map(|batch| (batch.partition(), batch.records())).collect();
    let hashed = partition_of_key(b"21", 8);
    assert!(of.contains(&(hashed, 3)) && of.contains(&(5, 1)), "{of:?}");
    assert_eq!((builder.records(), builder.len_bytes()), (0, 0));
}

#[test]
fn keyless_records_go_round_the_partitions_batch_by_batch() {
    let mut builder = BatchSetBuilder::new(Box::new(|_| 3), Compression::None);
    let topic = builder.topic("t");
    let mut seen = Vec::new();
    for _ in 0..4 {
        builder.append(topic, None, RecordRef::default());
        builder.append(topic, None, RecordRef::default());
        seen.extend(builder.finish().iter().map(|batch| (batch.partition(), batch.records())));
    }
    assert_eq!(seen, [(0, 2), (1, 2), (2, 2), (0, 2)]);
}

#[test]
fn batches_are_closed_at_their_size_and_keep_the_order() {
    let mut builder =
        BatchSetBuilder::new(Box::new(|_| 1), Compression::Lz4).with_max_batch_bytes(1000);
    let topic = builder.topic("t");
    for number in 0..100_u32 {
        let value = [number as u8; 90];
        builder.append(topic, None, RecordRef { value: Some(&value), ..RecordRef::default() });
    }
    let batches = builder.finish();
    assert!(batches.len() > 5 && batches.iter().all(|batch| batch.len_bytes() <= 1000));
    let mut next = 0;
    for batch in batches {
        let set = RecordBatchReader::new(&batch.compress().unwrap().bytes).unwrap().read().unwrap();
        for record in set.iter() {
            assert_eq!(record.value().unwrap()[0], next);
            next += 1;
        }
    }
    assert_eq!(next, 100);
}

#[test]
fn a_record_of_100_mb_comes_back() {
    let value: Vec<u8> = (0..100_000_000_u32).map(|i| (i >> 8) as u8).collect();
    let record = RecordRef { value: Some(&value), ..RecordRef::default() };
    let batches = build(Compression::Lz4, &[record, RecordRef::default()]);
    assert_eq!(batches.len(), 2);
    let set = RecordBatchReader::new(&batches[0].bytes).unwrap().read().unwrap();
    assert!(set.iter().next().unwrap().value() == Some(&value[..]));
}

#[test]
fn records_that_do_not_pack_stay_as_they_are() {
    let record = RecordRef { value: Some(b"ab"), ..RecordRef::default() };
    let batch = build(Compression::Zstd, &[record]).remove(0);
    let reader = RecordBatchReader::new(&batch.bytes).unwrap();
    assert_eq!(reader.compression(), Compression::None);
    assert_eq!(reader.read().unwrap().iter().next().unwrap().value(), Some(&b"ab"[..]));
}

/// What a client without Java's library writes.
#[test]
fn bare_snappy_and_streams_behind_each_other_are_read() {
    let record = RecordRef { value: Some(&[7; 400]), ..RecordRef::default() };
    let plain = build(Compression::None, &[record]).remove(0).bytes;
    let records = &plain[HEADER_BYTES..];
    let bare = snap::raw::Encoder::new().compress_vec(records).unwrap();
    let mut framed = Vec::new();
    snappy::pack(&records[..100], &mut framed).unwrap();
    snappy::pack(&records[100..], &mut framed).unwrap();
    for packed in [bare, framed] {
        let mut bytes = plain[..HEADER_BYTES].to_vec();
        bytes[at::ATTRIBUTES + 1] = Compression::Snappy.id() as u8;
        bytes.extend(packed);
        let set = RecordBatchReader::new(&reseal(bytes)).unwrap().read().unwrap();
        assert_eq!(set.iter().next().unwrap().value(), Some(&[7; 400][..]));
    }
}

#[test]
fn a_snappy_block_that_lies_about_its_size_is_refused_before_room_is_made() {
    // A length of 2 GiB, and two bytes of it.
    let lie = b"\xff\xff\xff\xff\x07\x04a";
    let mut data = Vec::new();
    assert!(snappy::unpack(lie, 100, &mut data).is_err());
    assert!(snappy::unpack(lie, usize::MAX, &mut data).is_err());
    assert_eq!(data.capacity(), 0);
}

type OwnedRecord = (Option<Vec<u8>>, Option<Vec<u8>>, Vec<(String, Option<Vec<u8>>)>, i64);

fn owned_record() -> impl Strategy<Value = OwnedRecord> {
    let bytes = |max| prop::option::of(prop::collection::vec(any::<u8>(), 0..max));
    let headers = prop::collection::vec(("[a-z]{0,8}", bytes(9)), 0..3);
    (bytes(40), bytes(400), headers, any::<i64>())
}

proptest! {
    #[test]
    fn what_is_built_is_read(
        records in prop::collection::vec(owned_record(), 1..60),
        codec in prop::sample::select(Compression::ALL.to_vec()),
    ) {
        let mut builder = BatchSetBuilder::new(Box::new(|_| 1), codec);
        let topic = builder.topic("t");
        for (key, value, headers, timestamp_ms) in &records {
            let headers: Vec<_> =
                headers.iter().map(|(key, value)| (key.as_str(), value.as_deref())).collect();
            let (key, value) = (key.as_deref(), value.as_deref());
            let timestamp_ms = *timestamp_ms;
            builder.append(topic, None, RecordRef { key, value, headers: &headers, timestamp_ms });
        }
        let batch = builder.finish().remove(0).compress().unwrap();
        let reader = RecordBatchReader::new(&restamp(&batch.bytes, 1000)).unwrap();
        prop_assert_eq!(reader.last_offset(), 999 + records.len() as i64);
        let set = reader.read().unwrap();
        prop_assert_eq!(set.records.len(), records.len());
        let pairs = set.iter().zip(&records).enumerate();
        for (index, (record, (key, value, headers, timestamp_ms))) in pairs {
            prop_assert_eq!(record.offset(), 1000 + index as i64);
            prop_assert_eq!(record.timestamp_ms(), *timestamp_ms);
            prop_assert_eq!(record.key(), key.as_deref());
            prop_assert_eq!(record.value(), value.as_deref());
            let read: Vec<_> = record
                .headers()
                .map(|header| {
                    let key = String::from_utf8(header.key.to_vec()).unwrap();
                    (key, header.value.map(<[u8]>::to_vec))
                })
                .collect();
            prop_assert_eq!(&read, headers);
        }
    }

    #[test]
    fn any_bytes_give_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(RecordBatchReader::new(&bytes.into()).is_err());
    }

    #[test]
    fn any_records_behind_a_right_header_give_records_or_an_error(
        attributes in 0..5_u8,
        records in any::<i32>(),
        body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = build(Compression::None, &[RecordRef::default()])[0].bytes.to_vec();
        bytes.truncate(HEADER_BYTES);
        bytes[at::ATTRIBUTES + 1] = attributes;
        bytes[at::RECORDS..].copy_from_slice(&records.to_be_bytes());
        bytes.extend(body);
        let _ = RecordBatchReader::new(&reseal(bytes)).and_then(|reader| reader.read());
    }

    #[test]
    fn a_flipped_bit_is_noticed(place in 16_usize..100, bit in 0..8_u32) {
        let value = [9_u8; 60];
        let record = RecordRef { value: Some(&value), ..RecordRef::default() };
        let mut bytes = build(Compression::None, &[record])[0].bytes.to_vec();
        bytes[place] ^= 1_u8 << bit;
        prop_assert!(RecordBatchReader::new(&bytes.into()).is_err());
    }
}
