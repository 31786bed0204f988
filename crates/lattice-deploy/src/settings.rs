//! `lattice.yaml`: what the platform shall be.

use std::collections::BTreeMap;

use lattice_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Sizes of all parts by one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// One node in one zone, for trials.
    Dev,
    /// Three small nodes.
    #[default]
    Small,
    /// Three nodes with room, several workers and consoles.
    Production,
}

impl Profile {
    /// The word in files and flags.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Small => "small",
            Self::Production => "production",
        }
    }
}

/// Where Kafka comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KafkaMode {
    /// Made by us, on Fargate.
    #[default]
    New,
    /// A cluster of the user's.
    Existing,
    /// Amazon MSK made by us: not offered, and said so.
    Msk,
}

/// Kafka's part of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Kafka {
    /// Where Kafka comes from.
    pub mode: KafkaMode,
    /// Controllers, over the profile's; fixed once made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controllers: Option<u32>,
    /// Brokers, over the profile's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brokers: Option<u32>,
    /// The brokers' storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// Hours that records are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_hours: Option<u32>,
    /// Of an existing cluster: brokers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_servers: Option<String>,
    /// Of an existing cluster: `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT`, `SASL_SSL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_protocol: Option<String>,
    /// Of an existing cluster: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sasl_mechanism: Option<String>,
    /// Of an existing cluster: the secret with `username`, `password`, `jaas` and, for a private authority, `ca`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_arn: Option<String>,
    /// Of an existing cluster: whether `ca` of the secret is its authority.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub private_ca: bool,
    /// A file system kept by an earlier teardown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efs_id: Option<String>,
}

/// The brokers' storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// `efs` or `ebs`.
    pub kind: String,
    /// Of EBS: GiB a broker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_gib: Option<u32>,
    /// Of EFS: provisioned MiB/s; bursting without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efs_mibps: Option<u32>,
}

/// CPU units and MiB of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// CPU units: 1024 are one vCPU.
    pub cpu: u32,
    /// MiB of memory.
    pub memory: u32,
}

/// Where OpenTofu's state lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateKind {
    /// An S3 bucket, made when it is not there.
    #[default]
    S3,
    /// A file in the working folder, for trials.
    Local,
}

/// OpenTofu's state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct State {
    /// Where it lies.
    pub kind: StateKind,
    /// The bucket; without it `lattice-state-ACCOUNT-REGION`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
}

/// `lattice.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The platform's name.
    pub name: String,
    /// AWS region.
    pub region: String,
    /// AWS account: nothing is done in another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The VPC.
    pub vpc: String,
    /// Subnets of the tasks.
    pub subnets: Vec<String>,
    /// Sizes.
    pub profile: Profile,
    /// Private DNS name of the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Kafka.
    pub kafka: Kafka,
    /// Lattice workers, over the profile's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Run Kafka Connect with Debezium too.
    pub connect: bool,
    /// Address ranges that may reach the console.
    pub allowed_cidrs: Vec<String>,
    /// Let those ranges reach the brokers too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub expose_kafka: bool,
    /// Ranges of databases that workers may reach; empty: anywhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub database_egress: Vec<String>,
    /// CPU and memory by role, over the profile's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<String, Size>,
    /// Container images by part: lattice, kafka, registry, connect.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub images: BTreeMap<String, String>,
    /// `X86_64` or `ARM64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// Public addresses for tasks, to pull images from public subnets.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub assign_public_ip: bool,
    /// Make VPC endpoints, for subnets without a way out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub create_vpc_endpoints: bool,
    /// Route tables for the S3 endpoint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub route_table_ids: Vec<String>,
    /// KMS key for data at rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kms_key_arn: Option<String>,
    /// Permissions boundary of the roles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions_boundary_arn: Option<String>,
    /// A certificate of the user's for the console.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ui_certificate_secret_arn: Option<String>,
    /// More tags.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// OpenTofu's state.
    pub state: State,
}

impl Settings {
    /// Reads the file's text.
    ///
    /// # Errors
    /// When it is not YAML of this form: names the key or the line.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        serde_yaml_ng::from_str(text).map_err(|error| {
            Error::config(format!("read {file}: {error}")).with_remedy(
                "docs/deploy-aws.md and deploy/tofu/variables.tf tell what there is to set",
            )
        })
    }

    /// The file's text.
    ///
    /// # Errors
    /// Never in practice; the writer's own fault would be passed on.
    pub fn to_yaml(&self) -> Result<String> {
        let text = serde_yaml_ng::to_string(self)
            .map_err(|error| Error::fatal("write the settings as YAML").with_source(error))?;
        Ok(format!("# The Lattice platform {}.\n{text}", self.name))
    }

    /// The platform's DNS name.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("lattice.local")
    }

    /// Every fault of the settings at once.
    ///
    /// # Errors
    /// One error that lists what is missing or wrong, key by key.
    pub fn check(&self) -> Result<()> {
        let mut faults = Vec::new();
        for (empty, key) in [
            (self.name.is_empty(), "name"),
            (self.region.is_empty(), "region"),
            (self.vpc.is_empty(), "vpc"),
            (self.subnets.is_empty(), "subnets"),
        ] {
            if empty {
                faults.push(format!("{key} is missing"));
            }
        }
        self.check_names(&mut faults);
        self.check_kafka(&mut faults);
        if faults.is_empty() {
            return Ok(());
        }
        Err(Error::config(format!("the platform's settings: {}", faults.join("; ")))
            .with_remedy("mend them in lattice.yaml"))
    }

    fn check_names(&self, faults: &mut Vec<String>) {
        let name = self.name.as_bytes();
        let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        let good = name.first().is_some_and(u8::is_ascii_lowercase)
            && name.iter().all(plain)
            && (2..=24).contains(&name.len());
        if !name.is_empty() && !good {
            faults.push(format!(
                "name \"{}\": 2 to 24 lower-case letters, digits and hyphens, beginning with a letter",
                self.name
            ));
        }
        if !self.vpc.is_empty() && !self.vpc.starts_with("vpc-") {
            faults.push(format!("vpc \"{}\": an id such as vpc-0123abcd", self.vpc));
        }
        for subnet in self.subnets.iter().filter(|subnet| !subnet.starts_with("subnet-")) {
            faults.push(format!("subnets \"{subnet}\": an id such as subnet-0123abcd"));
        }
        for cidr in self.allowed_cidrs.iter().filter(|cidr| cidr.ends_with("/0")) {
            faults.push(format!(
                "allowed_cidrs \"{cidr}\" opens the platform to everybody: name the ranges that need it"
            ));
        }
        if let Some(account) = &self.account
            && (account.len() != 12 || !account.bytes().all(|byte| byte.is_ascii_digit()))
        {
            faults.push(format!("account \"{account}\": twelve digits"));
        }
        if let Some(architecture) = &self.architecture
            && !matches!(architecture.as_str(), "X86_64" | "ARM64")
        {
            faults.push(format!("architecture \"{architecture}\": X86_64 or ARM64"));
        }
    }

    fn check_kafka(&self, faults: &mut Vec<String>) {
        let kafka = &self.kafka;
        match kafka.mode {
            KafkaMode::Msk => faults.push(
                "kafka.mode msk: Lattice makes no MSK cluster; make one with SASL/SCRAM and give it as \
                 mode existing with bootstrap_servers and secret_arn"
                    .to_owned(),
            ),
            KafkaMode::Existing if kafka.bootstrap_servers.is_none() => {
                faults.push("kafka.bootstrap_servers is missing for mode existing".to_owned());
            }
            KafkaMode::Existing => {
                if kafka.sasl_mechanism.as_deref() == Some("AWS_MSK_IAM") {
                    faults.push(
                        "kafka.sasl_mechanism AWS_MSK_IAM is not supported: use SCRAM-SHA-512".to_owned(),
                    );
                }
                let sasl = kafka.security_protocol.as_deref().unwrap_or("SASL_SSL").starts_with("SASL");
                if sasl && kafka.secret_arn.is_none() {
                    faults.push("kafka.secret_arn is missing: SASL needs user and password".to_owned());
                }
            }
            KafkaMode::New => self.check_new_kafka(faults),
        }
    }

    fn check_new_kafka(&self, faults: &mut Vec<String>) {
        let kafka = &self.kafka;
        let sizing = crate::sizing::Sizing::of(self);
        if !matches!(sizing.controllers, 0 | 1 | 3 | 5) {
            faults.push(format!("kafka.controllers {}: 1, 3 or 5", sizing.controllers));
        }
        if sizing.controllers == 0 && sizing.brokers != 1 {
            faults.push("kafka.controllers 0 goes with a single broker only".to_owned());
        }
        if sizing.brokers == 0 || sizing.brokers > 30 {
            faults.push(format!("kafka.brokers {}: 1 to 30", sizing.brokers));
        }
        let Some(storage) = &kafka.storage else { return };
        match storage.kind.as_str() {
            "efs" => {}
            "ebs" if sizing.brokers >= 3 && sizing.controllers >= 3 => {}
            "ebs" => faults.push(
                "kafka.storage ebs: a replaced broker starts empty, so it needs three brokers and three controllers"
                    .to_owned(),
            ),
            other => faults.push(format!("kafka.storage kind \"{other}\": efs or ebs")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name: shop\nregion: eu-west-1\nvpc: vpc-1\nsubnets: [subnet-1, subnet-2]\n";

    fn fault(more: &str) -> String {
        let settings = Settings::parse(&format!("{GOOD}{more}"), "lattice.yaml").unwrap();
        settings.check().unwrap_err().chain()
    }

    #[test]
    fn a_short_file_is_enough() {
        let settings = Settings::parse(GOOD, "lattice.yaml").unwrap();
        settings.check().unwrap();
        assert_eq!(Settings::parse(&settings.to_yaml().unwrap(), "x").unwrap(), settings);
    }

    #[test]
    fn everything_missing_is_told_at_once() {
        let error = Settings::default().check().unwrap_err().chain();
        for key in ["name", "region", "vpc", "subnets"] {
            assert!(error.contains(&format!("{key} is missing")), "{error}");
        }
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = Settings::parse("nmae: shop\n", "lattice.yaml").unwrap_err().chain();
        assert!(error.contains("nmae") && error.contains("lattice.yaml"), "{error}");
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (more, words) in [
            ("allowed_cidrs: [0.0.0.0/0]\n", "opens the platform to everybody"),
            ("kafka: {mode: msk}\n", "Lattice makes no MSK cluster"),
            ("kafka: {mode: existing}\n", "bootstrap_servers is missing"),
            (
                "kafka: {mode: existing, bootstrap_servers: k, sasl_mechanism: AWS_MSK_IAM}\n",
                "AWS_MSK_IAM",
            ),
            ("kafka: {controllers: 2}\n", "controllers 2: 1, 3 or 5"),
            ("kafka: {brokers: 2, storage: {kind: ebs}}\n", "three brokers"),
            ("kafka: {storage: {kind: tape}}\n", "efs or ebs"),
            ("account: '12'\n", "twelve digits"),
            ("architecture: RISC\n", "X86_64 or ARM64"),
        ] {
            let error = fault(more);
            assert!(error.contains(words), "{more}: {error}");
        }
    }
}
