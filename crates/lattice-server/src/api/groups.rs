//! `/api/v1/groups`: consumer groups, and how far each is behind.

use std::collections::BTreeMap;

use axum::extract::State;
use lattice_log::TopicInfo;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, Json},
    state::ServerState,
};

pub(crate) async fn list(State(state): State<ServerState>) -> Answer {
    let topics = state.log().topics().await?;
    let topics: BTreeMap<&str, &TopicInfo> =
        topics.iter().map(|topic| (&*topic.name, topic)).collect();
    let mut groups = Vec::new();
    for group in state.log().groups().await? {
        let offsets = state.log().committed_offsets(&group).await?;
        let partition = |(place, offset): &(lattice_log::TopicPartition, i64)| {
            let end = topics.get(&*place.topic).and_then(|topic| end(topic, place.partition));
            json!({
                "topic": *place.topic,
                "partition": place.partition,
                "offset": offset,
                "end_offset": end,
                "behind": end.map(|end| behind(end, *offset)),
            })
        };
        let partitions: Vec<Value> = offsets.iter().map(partition).collect();
        let behind = partitions.iter().filter_map(|partition| partition["behind"].as_i64());
        groups.push(json!({
            "group": group,
            "connector": connector(&group),
            "behind": behind.sum::<i64>(),
            "partitions": partitions,
        }));
    }
    Ok(Json(groups.into()))
}

/// The sink whose group this is.
pub(super) fn connector(group: &str) -> Option<&str> {
    group.strip_prefix("connect-")
}

/// Where a partition ends.
pub(super) fn end(topic: &TopicInfo, partition: i32) -> Option<i64> {
    let partition = topic.partitions.get(usize::try_from(partition).ok()?)?;
    Some(partition.end_offset)
}

/// Records that are still to be read.
pub(super) fn behind(end: i64, offset: i64) -> i64 {
    (end - offset).max(0)
}
