//! From joining to the next sharing out, again and again.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    pin::pin,
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::{Either, select};
use kafka_protocol::{error::ResponseError, messages::JoinGroupResponse};
use lattice_core::Error;

use super::{
    Core,
    requests::Beat,
    share::{Claim, share},
    words::{Introduction, read_share, written_share},
};
use crate::{kafka::fault::Fault, membership::Member};

/// Between attempts to join.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(2);

/// A leader's work: each member's share, written.
type Shares = Vec<(String, Bytes)>;

impl Core {
    /// Joins and stays a member. Ends only when another worker has this one's name.
    pub(super) async fn run(&self) {
        let mut pause = SHORTEST;
        loop {
            let fault = match self.round().await {
                Ok(()) => {
                    pause = SHORTEST;
                    continue;
                }
                Err(fault) => fault,
            };
            if fault.is(ResponseError::FencedInstanceId) {
                self.fence(&self.twin(), true);
                std::future::pending::<()>().await;
            }
            if fault.is(ResponseError::RebalanceInProgress) {
                continue;
            }
            if fault.is(ResponseError::UnknownMemberId)
                || fault.is(ResponseError::IllegalGeneration)
            {
                self.lost();
                continue;
            }
            self.inner.ground.cluster.forget_coordinator(&self.group);
            let error = self.told(fault);
            tracing::warn!(error = error.chain(), group = self.group, "join the group of workers");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST);
        }
    }

    async fn round(&self) -> Result<(), Fault> {
        self.until_clean().await;
        let joined = self.beating(self.join()).await?;
        let (leads, shares) = self.share_out(&joined)?;
        let share = self.beating(self.sync(shares)).await?;
        let Some((share, members)) = read_share(&share) else {
            return Err(Fault::Final(Error::fatal(format!(
                "the leader of the group {} gave no lease that can be read",
                self.group
            ))));
        };
        tracing::info!(leases = ?share, leads, generation = joined.generation_id, "leases");
        let Some((epoch, gives_back)) = self.take(share, members) else { return Ok(()) };
        if gives_back {
            self.beating(self.until_released(epoch)).await;
            return Ok(());
        }
        self.stay().await
    }

    /// Beats until leases are shared out anew.
    async fn stay(&self) -> Result<(), Fault> {
        loop {
            tokio::time::sleep(self.options.heartbeat_interval).await;
            match self.beat().await {
                Beat::Alive | Beat::Unanswered => {}
                Beat::Rejoin => return Ok(()),
                Beat::Outdated | Beat::Expelled => self.lost(),
                Beat::Replaced => self.fence(&self.twin(), true),
            }
            if self.standing().fenced.is_some() {
                return Ok(());
            }
        }
    }

    /// Beats while something takes its time.
    async fn beating<T>(&self, work: impl Future<Output = T>) -> T {
        match select(pin!(work), pin!(self.beats())).await {
            Either::Left((done, _)) => done,
            Either::Right((never, _)) => match never {},
        }
    }

    async fn beats(&self) -> Infallible {
        loop {
            tokio::time::sleep(self.options.heartbeat_interval).await;
            match self.beat().await {
                // The generation changes while one waits to be let in.
                Beat::Alive | Beat::Rejoin | Beat::Unanswered | Beat::Outdated => {}
                Beat::Expelled => self.lost(),
                Beat::Replaced => self.fence(&self.twin(), true),
            }
        }
    }

    /// The group went on without this worker.
    fn lost(&self) {
        let holds = !self.standing().held.is_empty();
        if holds {
            self.fence("the group took it for dead and went on without it", true);
        } else {
            let mut standing = self.standing();
            standing.member_id.clear();
            standing.generation = -1;
        }
    }

    fn twin(&self) -> String {
        format!(
            "another worker calls itself {}: give each its own address with --advertised-listener",
            self.options.worker_id
        )
    }

    /// A leader's shares for all; nothing from others.
    fn share_out(&self, joined: &JoinGroupResponse) -> Result<(bool, Shares), Fault> {
        if joined.leader != joined.member_id {
            return Ok((false, Vec::new()));
        }
        let before = self.standing().before.clone();
        let mut introductions = BTreeMap::new();
        let mut claims = BTreeMap::new();
        for member in &joined.members {
            let Some(introduction) = Introduction::read(&member.metadata) else { continue };
            let before = before.get(&introduction.worker_id).cloned().unwrap_or_default();
            let claim = Claim { held: introduction.held.clone(), before };
            claims.insert(member.member_id.to_string(), claim);
            introductions.insert(member.member_id.to_string(), introduction);
        }
        let shares = share(self.leases, &claims);
        let mut members: Vec<Member> = introductions
            .into_iter()
            .map(|(id, introduction)| Member {
                leader: id == joined.leader.as_str(),
                leases: shares.get(&id).cloned().unwrap_or_default(),
                worker_id: introduction.worker_id,
                url: introduction.url,
                version: introduction.version,
            })
            .collect();
        members.sort_by(|one, other| one.worker_id.cmp(&other.worker_id));
        let mut written = Vec::new();
        for (id, share) in &shares {
            written.push((id.clone(), written_share(&self.topic, share, &members)?));
        }
        Ok((true, written))
    }

    /// What this worker says of itself.
    pub(super) fn introduction(&self, held: BTreeSet<i32>) -> Introduction {
        Introduction {
            worker_id: self.options.worker_id.clone(),
            url: self.options.url.clone(),
            version: self.options.version.clone(),
            held,
        }
    }

    fn told(&self, fault: Fault) -> Error {
        if fault.is(ResponseError::InconsistentGroupProtocol) {
            return Error::config(format!(
                "the group {} has members that are no workers of Lattice",
                self.group
            ))
            .with_remedy(
                "stop the Kafka Connect cluster of this group.id first, or give another --group-id",
            );
        }
        fault.told(&format!("join the group {}", self.group))
    }
}
