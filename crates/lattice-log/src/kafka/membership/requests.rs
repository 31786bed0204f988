//! The group protocol's requests.

use std::time::{Duration, Instant};

use bytes::Bytes;
use kafka_protocol::{
    error::ResponseError,
    messages::{
        GroupId, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest,
        SyncGroupRequest, join_group_request::JoinGroupRequestProtocol,
        leave_group_request::MemberIdentity, sync_group_request::SyncGroupRequestAssignment,
    },
    protocol::StrBytes,
};

use super::Core;
use crate::kafka::{cluster::Coordinated, fault::Fault};

/// The protocol's name: members that share out otherwise are refused by the coordinator.
const PROTOCOL: &str = "lattice-leases";
const PROTOCOL_TYPE: &str = "consumer";

/// A join is answered when the group is complete; the answer has a way to go.
const WAY: Duration = Duration::from_secs(5);

/// What the coordinator answered to a sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beat {
    /// All is well.
    Alive,
    /// A member, and leases are being shared out anew.
    Rejoin,
    /// The group is at another generation.
    Outdated,
    /// No member any more.
    Expelled,
    /// Another worker has this one's name.
    Replaced,
    /// No answer, or none that says anything.
    Unanswered,
}

impl Core {
    fn group_id(&self) -> GroupId {
        GroupId(text(&self.group))
    }

    /// Stable over restarts, so that the group gives a worker back what it had.
    fn instance(&self) -> StrBytes {
        let legal = |letter: char| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' => letter,
            _ => '_',
        };
        StrBytes::from_string(self.options.worker_id.chars().map(legal).collect())
    }

    pub(super) async fn join(&self) -> Result<JoinGroupResponse, Fault> {
        let (member_id, held) = {
            let standing = self.standing();
            (standing.member_id.clone(), standing.held.clone())
        };
        let protocol = JoinGroupRequestProtocol::default()
            .with_name(StrBytes::from_static_str(PROTOCOL))
            .with_metadata(self.introduction(held).written(&self.topic)?);
        let request = JoinGroupRequest::default()
            .with_group_id(self.group_id())
            .with_session_timeout_ms(millis(self.options.session_timeout))
            .with_rebalance_timeout_ms(millis(self.options.rebalance_timeout))
            .with_member_id(text(&member_id))
            .with_group_instance_id(Some(self.instance()))
            .with_protocol_type(StrBytes::from_static_str(PROTOCOL_TYPE))
            .with_protocols(vec![protocol]);
        let cluster = &self.inner.ground.cluster;
        let broker = cluster.coordinator_id(Coordinated::Group, &self.group).await?;
        // A connection of its own: the answer comes late, and the beats must not wait for it.
        let connection = cluster.borrow(broker).await?;
        let patience = self.options.rebalance_timeout + WAY;
        let answer = connection.call_within(&request, patience).await?;
        cluster.give_back(broker, connection);
        Fault::check(answer.error_code, None)?;
        let mut standing = self.standing();
        standing.member_id = answer.member_id.to_string();
        standing.generation = answer.generation_id;
        Ok(answer)
    }

    pub(super) async fn sync(&self, shares: Vec<(String, Bytes)>) -> Result<Bytes, Fault> {
        let (member_id, generation) = self.identity();
        let assignment = |(id, share): (String, Bytes)| {
            SyncGroupRequestAssignment::default().with_member_id(text(&id)).with_assignment(share)
        };
        let request = SyncGroupRequest::default()
            .with_group_id(self.group_id())
            .with_generation_id(generation)
            .with_member_id(text(&member_id))
            .with_group_instance_id(Some(self.instance()))
            .with_protocol_type(Some(StrBytes::from_static_str(PROTOCOL_TYPE)))
            .with_protocol_name(Some(StrBytes::from_static_str(PROTOCOL)))
            .with_assignments(shares.into_iter().map(assignment).collect());
        let cluster = &self.inner.ground.cluster;
        let broker = cluster.coordinator_id(Coordinated::Group, &self.group).await?;
        let connection = cluster.borrow(broker).await?;
        let sent = Instant::now();
        let patience = self.options.rebalance_timeout + WAY;
        let answer = connection.call_within(&request, patience).await?;
        cluster.give_back(broker, connection);
        Fault::check(answer.error_code, None)?;
        self.alive(sent);
        Ok(answer.assignment)
    }

    fn identity(&self) -> (String, i32) {
        let standing = self.standing();
        (standing.member_id.clone(), standing.generation)
    }

    /// Gives a sign of life.
    pub(super) async fn beat(&self) -> Beat {
        let (member_id, generation) = self.identity();
        if member_id.is_empty() {
            return Beat::Unanswered;
        }
        let request = HeartbeatRequest::default()
            .with_group_id(self.group_id())
            .with_generation_id(generation)
            .with_member_id(text(&member_id))
            .with_group_instance_id(Some(self.instance()));
        let sent = Instant::now();
        let answered = async {
            let coordinator = self.inner.ground.cluster.coordinator(&self.group).await?;
            let answer = coordinator.call(&request).await?;
            Fault::check(answer.error_code, None)
        };
        let answered = tokio::time::timeout(self.options.session_timeout / 3, answered).await;
        let beat = match answered {
            Ok(Ok(())) => Beat::Alive,
            Ok(Err(fault)) => meaning(&fault),
            Err(_) => Beat::Unanswered,
        };
        match beat {
            Beat::Alive | Beat::Rejoin => self.alive(sent),
            Beat::Unanswered => self.inner.ground.cluster.forget_coordinator(&self.group),
            Beat::Outdated | Beat::Expelled | Beat::Replaced => {}
        }
        beat
    }

    /// The last worker of a group has nobody to keep leases from.
    pub(super) async fn leave_if_last(&self) {
        let alone = self.views.borrow().members.len() == 1;
        let (member_id, _) = self.identity();
        if !alone || member_id.is_empty() {
            return;
        }
        let member = MemberIdentity::default()
            .with_member_id(text(&member_id))
            .with_group_instance_id(Some(self.instance()));
        let mut request =
            LeaveGroupRequest::default().with_group_id(self.group_id()).with_members(vec![member]);
        let left = async {
            let coordinator = self.inner.ground.cluster.coordinator(&self.group).await?;
            // Kafka before 2.4 knows no members by their names.
            if coordinator.version::<LeaveGroupRequest>()? < 3 {
                request = LeaveGroupRequest::default()
                    .with_group_id(self.group_id())
                    .with_member_id(text(&member_id));
            }
            let answer = coordinator.call(&request).await?;
            Fault::check(answer.error_code, None)
        };
        let left = tokio::time::timeout(self.options.session_timeout / 3, left).await;
        if !matches!(left, Ok(Ok(()))) {
            tracing::info!(group = self.group, "the group learns by itself that its worker ended");
        }
    }
}

fn meaning(fault: &Fault) -> Beat {
    let meanings = [
        (ResponseError::RebalanceInProgress, Beat::Rejoin),
        (ResponseError::IllegalGeneration, Beat::Outdated),
        (ResponseError::UnknownMemberId, Beat::Expelled),
        (ResponseError::FencedInstanceId, Beat::Replaced),
    ];
    let found = meanings.into_iter().find(|(error, _)| fault.is(*error));
    found.map_or(Beat::Unanswered, |(_, beat)| beat)
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn millis(time: Duration) -> i32 {
    i32::try_from(time.as_millis()).unwrap_or(i32::MAX)
}
