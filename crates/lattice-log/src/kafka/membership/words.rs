//! What members of the group tell each other inside Kafka's messages.
//!
//! The outer form is the consumer protocol's, so that Kafka's tools show which worker holds which
//! partition; the workers' addresses are JSON in its user data.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::{
    messages::{
        ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicName,
        consumer_protocol_assignment, consumer_protocol_subscription,
    },
    protocol::{Decodable, Encodable, StrBytes},
};
use lattice_core::{Error, Result};
use serde_json::{Value, json};

use crate::membership::Member;

/// The version with held partitions, without generations and racks.
const VERSION: i16 = 1;

/// Who a member is, and what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Introduction {
    pub(super) worker_id: String,
    pub(super) url: String,
    pub(super) version: String,
    pub(super) held: BTreeSet<i32>,
}

impl Introduction {
    pub(super) fn written(&self, topic: &str) -> Result<Bytes> {
        let mut message = ConsumerProtocolSubscription::default();
        message.topics = vec![StrBytes::from_string(topic.to_owned())];
        let about =
            json!({ "worker_id": self.worker_id, "url": self.url, "version": self.version });
        message.user_data = Some(about.to_string().into());
        let mut held = consumer_protocol_subscription::TopicPartition::default();
        held.topic = TopicName(StrBytes::from_string(topic.to_owned()));
        held.partitions = self.held.iter().copied().collect();
        message.owned_partitions = vec![held];
        framed(&message)
    }

    pub(super) fn read(bytes: &Bytes) -> Option<Self> {
        let message: ConsumerProtocolSubscription = unframed(bytes, |rest| {
            strings(rest)?;
            blob(rest)?;
            shares(rest)
        })?;
        let about: Value = serde_json::from_slice(message.user_data.as_deref()?).ok()?;
        let text = |name: &str| about[name].as_str().map(str::to_owned);
        let held = message.owned_partitions.iter().flat_map(|one| &one.partitions);
        Some(Self {
            worker_id: text("worker_id")?,
            url: text("url")?,
            version: text("version")?,
            held: held.copied().collect(),
        })
    }
}

/// A member's share, with everybody's beside it.
pub(super) fn written_share(topic: &str, share: &[i32], members: &[Member]) -> Result<Bytes> {
    let told = |member: &Member| {
        json!({
            "worker_id": member.worker_id, "url": member.url, "version": member.version,
            "leader": member.leader, "leases": member.leases,
        })
    };
    let mut message = ConsumerProtocolAssignment::default();
    let mut own = consumer_protocol_assignment::TopicPartition::default();
    own.topic = TopicName(StrBytes::from_string(topic.to_owned()));
    own.partitions = share.to_vec();
    message.assigned_partitions = vec![own];
    let members: Value = members.iter().map(told).collect();
    message.user_data = Some(members.to_string().into());
    framed(&message)
}

pub(super) fn read_share(bytes: &Bytes) -> Option<(BTreeSet<i32>, Vec<Member>)> {
    let message: ConsumerProtocolAssignment = unframed(bytes, |rest| {
        shares(rest)?;
        blob(rest)
    })?;
    let share = message.assigned_partitions.iter().flat_map(|one| &one.partitions);
    let members: Vec<BTreeMap<String, Value>> =
        serde_json::from_slice(message.user_data.as_deref()?).ok()?;
    let member = |told: &BTreeMap<String, Value>| {
        let text = |name: &str| Some(told.get(name)?.as_str()?.to_owned());
        let leases = told.get("leases")?.as_array()?;
        let leases = leases.iter().filter_map(|lease| i32::try_from(lease.as_i64()?).ok());
        Some(Member {
            worker_id: text("worker_id")?,
            url: text("url")?,
            version: text("version")?,
            leader: told.get("leader")?.as_bool()?,
            leases: leases.collect(),
        })
    };
    let members = members.iter().map(member).collect::<Option<Vec<_>>>()?;
    Some((share.copied().collect(), members))
}

fn framed<M: Encodable>(message: &M) -> Result<Bytes> {
    let mut bytes = BytesMut::new();
    bytes.put_i16(VERSION);
    message.encode(&mut bytes, VERSION).map_err(|error| {
        Error::fatal("write a message to the group of workers")
            .with_source(std::io::Error::other(error))
    })?;
    Ok(bytes.freeze())
}

/// `walk` goes through the message before it is read: what reads it makes room for as many items as
/// the bytes say, and anybody may be a member of the group.
fn unframed<M: Decodable>(bytes: &Bytes, walk: impl FnOnce(&mut &[u8]) -> Option<()>) -> Option<M> {
    let mut bytes = bytes.clone();
    if bytes.remaining() < 2 {
        return None;
    }
    // Later versions begin as this one does; the first has no held partitions.
    let version = bytes.get_i16();
    if version < VERSION {
        return None;
    }
    walk(&mut &bytes[..])?;
    M::decode(&mut bytes, VERSION).ok()
}

/// How many items of at least `least` bytes follow; `None`: more than there are bytes for.
fn counted(rest: &mut &[u8], least: usize) -> Option<usize> {
    let (count, behind) = rest.split_first_chunk()?;
    let count = usize::try_from(i32::from_be_bytes(*count)).ok()?;
    *rest = behind;
    (count.checked_mul(least)? <= rest.len()).then_some(count)
}

fn skip(rest: &mut &[u8], bytes: usize) -> Option<()> {
    *rest = rest.get(bytes..)?;
    Some(())
}

fn string(rest: &mut &[u8]) -> Option<()> {
    let (length, behind) = rest.split_first_chunk()?;
    *rest = behind;
    skip(rest, usize::try_from(i16::from_be_bytes(*length)).ok()?)
}

fn strings(rest: &mut &[u8]) -> Option<()> {
    (0..counted(rest, 2)?).try_for_each(|_| string(rest))
}

fn blob(rest: &mut &[u8]) -> Option<()> {
    let length = counted(rest, 1)?;
    skip(rest, length)
}

fn shares(rest: &mut &[u8]) -> Option<()> {
    (0..counted(rest, 6)?).try_for_each(|_| {
        string(rest)?;
        let partitions = counted(rest, 4)?;
        skip(rest, partitions * 4)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn introductions_and_shares_read_as_written() {
        let own = Introduction {
            worker_id: "a:1".to_owned(),
            url: "http://a:1".to_owned(),
            version: "1".to_owned(),
            held: BTreeSet::from([1, 3]),
        };
        assert_eq!(Introduction::read(&own.written("t").unwrap()), Some(own.clone()));
        let member = Member {
            worker_id: own.worker_id,
            url: own.url,
            version: own.version,
            leader: true,
            leases: vec![1, 3],
        };
        let share = written_share("t", &[1, 3], std::slice::from_ref(&member)).unwrap();
        assert_eq!(read_share(&share), Some((BTreeSet::from([1, 3]), vec![member])));
        for broken in [&b""[..], b"\0", b"\0\x01rest", b"\0\x01\0\0\0\x01"] {
            assert_eq!(read_share(&Bytes::from_static(broken)), None);
        }
    }
}
