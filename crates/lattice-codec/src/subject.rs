//! Under which subject a topic's schemas stand: the naming strategies of both registries' libraries.
//!
//! Source: `io.confluent.kafka.serializers.subject`, `io.apicurio.registry.serde.*.strategy`.

use lattice_core::{
    config::Config,
    error::{Error, Result},
};

/// How a schema's subject is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// `<topic>-key`, `<topic>-value`
    Topic,
    /// `<topic>`
    SimpleTopic,
    /// The record's full name.
    Record,
    /// `<topic>-<full name>`
    TopicRecord,
    /// Apicurio's: the namespace is the group, the name the artifact.
    RecordInGroup,
    /// Apicurio's: the namespace is the group, `<topic>-<name>` the artifact.
    TopicRecordInGroup,
}

impl Naming {
    /// Reads the strategy of a converter; `side` is `key` or `value`.
    ///
    /// Errors: `Config`, naming the key.
    pub(crate) fn parse(side: &str, config: &Config) -> Result<Self> {
        let confluent = format!("{side}.converter.{side}.subject.name.strategy");
        let apicurio = format!("{side}.converter.apicurio.registry.artifact-resolver-strategy");
        let given = [confluent, apicurio].into_iter().find_map(|key| {
            let class = config.get(&key)?.trim().to_owned();
            Some((key, class)).filter(|(_, class)| !class.is_empty())
        });
        let Some((key, class)) = given else { return Ok(Self::Topic) };
        Ok(match class.rsplit(['.', '$']).next().unwrap_or_default() {
            "TopicNameStrategy" | "AssociatedNameStrategy" | "TopicIdStrategy" => Self::Topic,
            "SimpleTopicIdStrategy" => Self::SimpleTopic,
            "RecordNameStrategy" | "QualifiedRecordIdStrategy" => Self::Record,
            "TopicRecordNameStrategy" => Self::TopicRecord,
            "RecordIdStrategy" => Self::RecordInGroup,
            "TopicRecordIdStrategy" => Self::TopicRecordInGroup,
            _ => {
                return Err(Error::config(format!("unknown class in \"{key}\": {class}"))
                    .with_remedy(
                        "use TopicNameStrategy, RecordNameStrategy, TopicRecordNameStrategy, \
                         or Apicurio's TopicIdStrategy, SimpleTopicIdStrategy, RecordIdStrategy, \
                         QualifiedRecordIdStrategy, TopicRecordIdStrategy",
                    ));
            }
        })
    }

    /// The subject of a schema of this topic; one in a group is `group:artifact`.
    ///
    /// Errors: `Config` where the strategy needs a record's name and there is none.
    pub(crate) fn subject(self, topic: &str, suffix: &str, record: Option<&str>) -> Result<String> {
        let named = || {
            record.ok_or_else(|| {
                Error::config(format!(
                    "the {suffix} of topic \"{topic}\" is no named record, which its subject's \
                     naming strategy needs"
                ))
                .with_remedy(format!("use TopicNameStrategy for the {suffix}"))
            })
        };
        Ok(match self {
            Self::Topic => format!("{topic}-{suffix}"),
            Self::SimpleTopic => topic.to_owned(),
            Self::Record => named()?.to_owned(),
            Self::TopicRecord => format!("{topic}-{}", named()?),
            Self::RecordInGroup => in_group(named()?, |name| name.to_owned()),
            Self::TopicRecordInGroup => in_group(named()?, |name| format!("{topic}-{name}")),
        })
    }
}

fn in_group(full: &str, artifact: impl Fn(&str) -> String) -> String {
    match full.rsplit_once('.') {
        Some((group, name)) => format!("{group}:{}", artifact(name)),
        None => artifact(full),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_strategy_names_the_subject_as_its_library_does() {
        let cases = [
            (None, "shop.t-value"),
            (Some("TopicNameStrategy"), "shop.t-value"),
            (Some("RecordNameStrategy"), "shop.t.Envelope"),
            (Some("TopicRecordNameStrategy"), "shop.t-shop.t.Envelope"),
        ];
        let key = "value.converter.value.subject.name.strategy";
        for (class, subject) in cases {
            let mut config = Config::default();
            if let Some(class) = class {
                config.set(key, format!("io.confluent.kafka.serializers.subject.{class}"));
            }
            let naming = Naming::parse("value", &config).unwrap();
            let record = Some("shop.t.Envelope");
            assert_eq!(naming.subject("shop.t", "value", record).unwrap(), subject);
        }
        let cases = [
            ("SimpleTopicIdStrategy", "shop.t"),
            ("RecordIdStrategy", "shop.t:Envelope"),
            ("QualifiedRecordIdStrategy", "shop.t.Envelope"),
            ("TopicRecordIdStrategy", "shop.t:shop.t-Envelope"),
        ];
        let key = "value.converter.apicurio.registry.artifact-resolver-strategy";
        for (class, subject) in cases {
            let mut config = Config::default();
            config.set(key, format!("io.apicurio.registry.serde.avro.strategy.{class}"));
            let naming = Naming::parse("value", &config).unwrap();
            let record = Some("shop.t.Envelope");
            assert_eq!(naming.subject("shop.t", "value", record).unwrap(), subject);
        }
    }

    #[test]
    fn a_record_strategy_without_a_record_is_an_error_with_the_remedy() {
        let error = Naming::Record.subject("t", "key", None).unwrap_err();
        assert!(error.chain().contains("TopicNameStrategy"), "{}", error.chain());
    }
}
