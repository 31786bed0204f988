//! Transactions of a source task: records and the position that covers them become visible together.
//!
//! Whoever begins under a transactional id fences those before: their epoch is an older one. A
//! transaction in which anything went wrong is aborted and begun anew under a further epoch, which
//! the brokers give only to the newest holder of the id.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use kafka_protocol::{
    error::ResponseError,
    messages::{
        AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest, ProducerId, TopicName,
        TransactionalId, add_partitions_to_txn_request::AddPartitionsToTxnTopic,
    },
    protocol::StrBytes,
};
use lattice_core::{BoxFuture, Error, ErrorKind, Result};
use tokio::sync::Mutex;

use super::{
    Inner,
    cluster::{Cluster, Coordinated},
    fault::Fault,
    producer::{Identity, Print, Producer},
    retry::Retry,
    sent::copied,
};
use crate::log::{AppendRequest, EncodedBatch, TopicPartition, Transactions};

/// An attempt gives up after so long without success; whoever appends tries again.
const PATIENCE: Duration = Duration::from_secs(5);

/// The transactions under one id.
pub(crate) struct Transaction {
    cluster: Arc<Cluster>,
    producer: Producer,
    id: String,
    timeout: Duration,
    state: Mutex<State>,
}

struct State {
    identity: Identity,
    /// The coordinator knows that they are written to.
    partitions: BTreeSet<TopicPartition>,
    phase: Phase,
}

enum Phase {
    /// Between two transactions, or in one that is as it should be.
    Fine,
    /// What is open must be undone.
    Broken,
    /// It was asked to commit, and nobody knows whether it did. What it ended with, and where that was written.
    Committing(Vec<Print>, Vec<i64>),
    /// Somebody else has the id.
    Fenced(Error),
}

impl Transaction {
    /// Takes the id: whoever had it is fenced, what was open is aborted.
    pub(crate) async fn begin(
        cluster: Arc<Cluster>,
        id: String,
        timeout: Duration,
    ) -> Result<Self> {
        let producer = Producer::in_transactions(Arc::clone(&cluster), id.clone());
        let nobody = Identity { id: -1, epoch: -1 };
        let state = State { identity: nobody, partitions: BTreeSet::new(), phase: Phase::Broken };
        let transaction = Self { cluster, producer, id, timeout, state: Mutex::new(state) };
        transaction.renew(&mut *transaction.state.lock().await).await?;
        Ok(transaction)
    }

    /// The contract is [`Transactions::append`]'s; `last` ends the transaction.
    pub(crate) async fn append(
        &self,
        batches: &[EncodedBatch],
        last: Option<&EncodedBatch>,
    ) -> Result<Vec<i64>> {
        let mut state = self.state.lock().await;
        let prints = || batches.iter().chain(last).map(Print::of).collect::<Vec<_>>();
        if let Phase::Committing(known, offsets) = &state.phase {
            let again = (*known == prints()).then(|| offsets.clone());
            self.commit(&mut state).await?;
            if let Some(offsets) = again {
                return Ok(offsets);
            }
        }
        match &state.phase {
            Phase::Fenced(error) => return Err(copied(error)),
            Phase::Broken => self.renew(&mut state).await?,
            Phase::Fine | Phase::Committing(..) => {}
        }
        let offsets = match self.write(&mut state, batches, last).await {
            Ok(offsets) => offsets,
            Err(error) => {
                state.phase = Phase::Broken;
                // Readers wait for what is open. When it cannot be undone now, the next append does.
                if let Err(error) = self.renew(&mut state).await {
                    tracing::debug!(error = error.chain(), "a transaction is still open");
                }
                return Err(match &state.phase {
                    Phase::Fenced(fenced) => copied(fenced),
                    _ => error,
                });
            }
        };
        if last.is_some() {
            state.phase = Phase::Committing(prints(), offsets.clone());
            self.commit(&mut state).await?;
        }
        Ok(offsets)
    }

    async fn write(
        &self,
        state: &mut State,
        batches: &[EncodedBatch],
        last: Option<&EncodedBatch>,
    ) -> Result<Vec<i64>> {
        let places = batches.iter().chain(last).map(|batch| TopicPartition {
            topic: Arc::clone(&batch.topic),
            partition: batch.partition,
        });
        let new: BTreeSet<_> = places.filter(|place| !state.partitions.contains(place)).collect();
        if !new.is_empty() {
            self.add(state, &new).await?;
            state.partitions.extend(new);
        }
        self.producer.append(batches, last).await
    }

    /// Tells the coordinator which partitions are written to.
    async fn add(&self, state: &State, new: &BTreeSet<TopicPartition>) -> Result<()> {
        let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
        for place in new {
            topics.entry(&place.topic).or_default().push(place.partition);
        }
        let topics = topics.into_iter().map(|(topic, partitions)| {
            AddPartitionsToTxnTopic::default()
                .with_name(TopicName(StrBytes::from_string(topic.to_owned())))
                .with_partitions(partitions)
        });
        let request = AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(self.name())
            .with_v3_and_below_producer_id(ProducerId(state.identity.id))
            .with_v3_and_below_producer_epoch(state.identity.epoch)
            .with_v3_and_below_topics(topics.collect());
        // The last transaction's markers may still be on their way.
        let mut retry = Retry::soon(PATIENCE);
        loop {
            let Err(fault) = self.try_add(&request).await else { return Ok(()) };
            self.look_after(&fault);
            let what = || format!("begin a transaction of {}", self.id);
            match fault {
                Fault::Refused(refusal) if !refusal.may_pass() && !refusal.says_for_good() => {
                    return Err(Fault::Refused(refusal).aborting(&what()));
                }
                fault => retry.after(fault, what).await?,
            }
        }
    }

    async fn try_add(&self, request: &AddPartitionsToTxnRequest) -> Result<(), Fault> {
        let answer = self.coordinator().await?.call(request).await?;
        // A partition that was not looked at says only that another one was refused.
        let results = answer.results_by_topic_v3_and_below.iter().flat_map(|topic| {
            topic.results_by_partition.iter().map(|result| result.partition_error_code)
        });
        let skipped = ResponseError::OperationNotAttempted.code();
        let codes: Vec<i16> = results.filter(|code| *code != 0).collect();
        let telling = codes.iter().find(|code| **code != skipped).or(codes.first());
        Fault::check(telling.copied().unwrap_or(0), None)
    }

    /// Commits what is open. Afterwards it is known whether it did, unless the error is `Transient` and the phase is
    /// still `Committing`.
    async fn commit(&self, state: &mut State) -> Result<()> {
        let request = EndTxnRequest::default()
            .with_transactional_id(self.name())
            .with_producer_id(ProducerId(state.identity.id))
            .with_producer_epoch(state.identity.epoch)
            .with_committed(true);
        let mut retry = Retry::within(PATIENCE);
        let what = || format!("commit a transaction of {}", self.id);
        loop {
            match self.try_commit(&request).await {
                Ok(()) => {
                    state.phase = Phase::Fine;
                    state.partitions.clear();
                    return Ok(());
                }
                Err(Fault::Refused(refusal)) if !refusal.may_pass() => {
                    // It will never commit: it was aborted, or somebody else has the id.
                    state.phase = Phase::Broken;
                    self.renew(state).await?;
                    return Err(Fault::Refused(refusal).aborting(&what()));
                }
                Err(fault) => {
                    self.look_after(&fault);
                    retry.after(fault, what).await?;
                }
            }
        }
    }

    async fn try_commit(&self, request: &EndTxnRequest) -> Result<(), Fault> {
        let answer = self.coordinator().await?.call(request).await?;
        Fault::check(answer.error_code, None)
    }

    /// Begins anew: aborts what is open and takes the next epoch.
    ///
    /// Errors: `Fatal` when somebody else has the id, and any further append gives it too.
    async fn renew(&self, state: &mut State) -> Result<()> {
        let request = InitProducerIdRequest::default()
            .with_transactional_id(Some(self.name()))
            .with_transaction_timeout_ms(
                i32::try_from(self.timeout.as_millis()).unwrap_or(i32::MAX),
            )
            .with_producer_id(ProducerId(state.identity.id))
            .with_producer_epoch(state.identity.epoch);
        let mut retry = Retry::within(PATIENCE);
        let identity = loop {
            match self.try_renew(&request).await {
                Ok(identity) => break identity,
                Err(fault) => {
                    self.look_after(&fault);
                    let what = || format!("take the transactional id {}", self.id);
                    if let Err(error) = retry.after(fault, what).await {
                        if error.kind() == ErrorKind::Fatal {
                            state.phase = Phase::Fenced(copied(&error));
                        }
                        return Err(error);
                    }
                }
            }
        };
        self.producer.begin_as(identity).await;
        *state = State { identity, partitions: BTreeSet::new(), phase: Phase::Fine };
        Ok(())
    }

    async fn try_renew(&self, request: &InitProducerIdRequest) -> Result<Identity, Fault> {
        let answer = self.coordinator().await?.call(request).await?;
        Fault::check(answer.error_code, None)?;
        Ok(Identity { id: answer.producer_id.0, epoch: answer.producer_epoch })
    }

    async fn coordinator(&self) -> Result<Arc<super::connection::Connection>, Fault> {
        self.cluster.coordinator_of(Coordinated::Transaction, &self.id).await
    }

    fn look_after(&self, fault: &Fault) {
        let moved = fault.is(ResponseError::NotCoordinator)
            || fault.is(ResponseError::CoordinatorNotAvailable)
            || matches!(fault, Fault::Broken(_));
        if moved {
            self.cluster.forget_coordinator_of(Coordinated::Transaction, &self.id);
        }
    }

    fn name(&self) -> TransactionalId {
        TransactionalId(StrBytes::from_string(self.id.clone()))
    }
}

/// The transactions of a task, on the log that it belongs to.
pub(crate) struct OfTask {
    inner: Arc<Inner>,
    transaction: Arc<Transaction>,
}

impl OfTask {
    pub(crate) fn new(inner: Arc<Inner>, transaction: Transaction) -> Self {
        Self { inner, transaction: Arc::new(transaction) }
    }
}

impl Transactions for OfTask {
    fn append(&self, request: AppendRequest) -> BoxFuture<'_, Result<Vec<i64>>> {
        let (inner, transaction) = (Arc::clone(&self.inner), Arc::clone(&self.transaction));
        // Goes on when its caller is gone: what is known of the transaction stays true.
        let appended = tokio::spawn(async move {
            let outcome = inner.append_to(&transaction, request).await;
            inner.note(&outcome);
            outcome
        });
        Box::pin(super::appended(appended))
    }
}
