//! What goes wrong between us and a broker, and what the platform is told of it.

use kafka_protocol::error::ResponseError;
use lattice_core::{Error, ErrorKind};

/// What a task is told that lost its transactional id.
const FENCED: &str = "another task writes under the same transactional id, or a transaction took longer than \
    its timeout: see that the connector runs in one place, raise \
    \"producer.override.transaction.timeout.ms\" or shorten \"transaction.boundary.interval.ms\", and \
    restart the task";

/// Why a request did not succeed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The connection broke, or no answer came in time: whether the broker did it is unknown.
    Broken(Error),
    /// The broker refused.
    Refused(Refusal),
    /// Trying again does not help.
    Final(Error),
}

/// A broker's error code, and what it said beside it.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) code: i16,
    pub(crate) message: Option<String>,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

impl Fault {
    /// The fault of an answer's error code; `None`: there is none.
    pub(crate) fn of_code(code: i16, message: Option<&str>) -> Option<Self> {
        (code != 0).then(|| Self::Refused(Refusal { code, message: message.map(str::to_owned) }))
    }

    /// `Err` for an error code.
    pub(crate) fn check(code: i16, message: Option<&str>) -> Result<(), Self> {
        Self::of_code(code, message).map_or(Ok(()), Err)
    }

    /// Whether it is this refusal.
    pub(crate) fn is(&self, error: ResponseError) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.is(error))
    }

    /// Whether the same request may succeed later.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Broken(_) => true,
            Self::Refused(refusal) => refusal.may_pass(),
            Self::Final(_) => false,
        }
    }

    /// The platform's error inside of a transaction: it is aborted, and may be done again.
    pub(crate) fn aborting(self, what: &str) -> Error {
        match self {
            Self::Refused(refusal) => {
                Error::transient(format!("{what}: Kafka says: {}", refusal.text()))
            }
            fault => fault.told(what),
        }
    }

    /// The platform's error. `what`: what was attempted, with what.
    pub(crate) fn told(self, what: &str) -> Error {
        match self {
            Self::Final(error) => error,
            Self::Broken(cause) => {
                let remedy = cause.remedy().map(str::to_owned);
                let error = Error::transient(what).with_source(cause);
                match remedy {
                    Some(remedy) => error.with_remedy(remedy),
                    None => error,
                }
            }
            Self::Refused(refusal) => refusal.told(what),
        }
    }
}

impl Refusal {
    pub(crate) fn is(&self, error: ResponseError) -> bool {
        self.code == error.code()
    }

    pub(crate) fn may_pass(&self) -> bool {
        // The transaction before it is on its way to its end; the crate takes it for final.
        self.is(ResponseError::ConcurrentTransactions)
            || ResponseError::try_from_code(self.code).is_some_and(|error| error.is_retriable())
    }

    /// Doing the same again in another transaction would be refused too.
    pub(crate) fn says_for_good(&self) -> bool {
        use ResponseError as R;
        [
            R::MessageTooLarge,
            R::RecordListTooLarge,
            R::TopicAuthorizationFailed,
            R::ClusterAuthorizationFailed,
            R::TransactionalIdAuthorizationFailed,
            R::InvalidTopicException,
            R::InvalidRequiredAcks,
            R::InvalidTimestamp,
            R::UnsupportedVersion,
            R::UnsupportedForMessageFormat,
            R::PolicyViolation,
            R::ProducerFenced,
        ]
        .into_iter()
        .any(|error| self.is(error))
    }

    /// The partition's leader is not where we thought.
    pub(crate) fn moved(&self) -> bool {
        use ResponseError as R;
        [
            R::NotLeaderOrFollower,
            R::LeaderNotAvailable,
            R::UnknownTopicOrPartition,
            R::FencedLeaderEpoch,
            R::UnknownLeaderEpoch,
            R::KafkaStorageError,
            R::ReplicaNotAvailable,
            R::BrokerNotAvailable,
        ]
        .into_iter()
        .any(|error| self.is(error))
    }

    /// The broker's own words.
    pub(crate) fn text(&self) -> String {
        let known = ResponseError::try_from_code(self.code).map(|error| error.to_string());
        let text = known.unwrap_or_else(|| format!("error code {}", self.code));
        let text = text.trim_end_matches('.').to_owned();
        match self.message.as_deref().map(str::trim) {
            Some(said) if !said.is_empty() && said.trim_end_matches('.') != text => {
                format!("{text} ({})", said.trim_end_matches('.'))
            }
            _ => text,
        }
    }

    fn told(&self, what: &str) -> Error {
        let (kind, remedy) = self.meaning();
        let error = Error::new(kind, format!("{what}: Kafka says: {}", self.text()));
        match remedy {
            Some(remedy) => error.with_remedy(remedy),
            None => error,
        }
    }

    fn meaning(&self) -> (ErrorKind, Option<&'static str>) {
        use ResponseError as R;
        let Some(error) = ResponseError::try_from_code(self.code) else {
            return (ErrorKind::Fatal, None);
        };
        match error {
            R::TopicAuthorizationFailed => (
                ErrorKind::Auth,
                Some(
                    "grant the principal the ACLs Read, Write, Create, Describe and \
                     DescribeConfigs on the topic (kafka-acls --add --allow-principal … --topic …)",
                ),
            ),
            R::GroupAuthorizationFailed => (
                ErrorKind::Auth,
                Some(
                    "grant the principal the ACLs Read, Describe and Delete on the group \
                     (kafka-acls --add --allow-principal … --group …)",
                ),
            ),
            R::ClusterAuthorizationFailed => (
                ErrorKind::Auth,
                Some(
                    "grant the principal the ACLs Create, Describe and IdempotentWrite on the \
                     cluster (kafka-acls --add --allow-principal … --cluster)",
                ),
            ),
            R::TransactionalIdAuthorizationFailed => (
                ErrorKind::Auth,
                Some(
                    "grant the principal the ACLs Write and Describe on the transactional id \
                     (kafka-acls --add --allow-principal … --transactional-id …)",
                ),
            ),
            R::SaslAuthenticationFailed | R::UnsupportedSaslMechanism | R::IllegalSaslState => (
                ErrorKind::Auth,
                Some("check \"sasl.mechanism\" and \"sasl.jaas.config\" of the client properties"),
            ),
            R::ProducerFenced | R::InvalidProducerEpoch => (ErrorKind::Fatal, Some(FENCED)),
            R::InvalidTransactionTimeout => (
                ErrorKind::Config,
                Some(
                    "lower \"producer.override.transaction.timeout.ms\" to the broker's \
                     \"transaction.max.timeout.ms\" or below",
                ),
            ),
            R::MessageTooLarge | R::RecordListTooLarge => (
                ErrorKind::Data,
                Some("raise \"max.message.bytes\" of the topic, or exclude the large column"),
            ),
            R::InvalidTopicException
            | R::InvalidPartitions
            | R::InvalidReplicationFactor
            | R::InvalidReplicaAssignment
            | R::InvalidConfig
            | R::PolicyViolation
            | R::InvalidRequest
            | R::UnsupportedVersion => (ErrorKind::Config, None),
            R::NonEmptyGroup | R::GroupSubscribedToTopic | R::UnknownMemberId => {
                (ErrorKind::Config, Some("stop the consumers of the group first, then try again"))
            }
            R::ConcurrentTransactions => (ErrorKind::Transient, None),
            other if other.is_retriable() => (ErrorKind::Transient, None),
            _ => (ErrorKind::Fatal, None),
        }
    }
}
