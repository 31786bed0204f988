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
            let end = topics.get(&*place.topic).and_then(|topic| {
                let partition = usize::try_from(place.partition).ok()?;
                topic.partitions.get(partition).map(|partition| partition.end_offset)
            });
            json!({
                "topic": *place.topic,
                "partition": place.partition,
                "offset": offset,
                "end_offset": end,
                "behind": end.map(|end| (end - offset).max(0)),
            })
        };
        let partitions: Vec<Value> = offsets.iter().map(partition).collect();
        let behind = partitions.iter().filter_map(|partition| partition["behind"].as_i64());
        groups.push(json!({
            "group": group,
            "connector": group.strip_prefix("connect-"),
            "behind": behind.sum::<i64>(),
            "partitions": partitions,
        }));
    }
    Ok(Json(groups.into()))
}
