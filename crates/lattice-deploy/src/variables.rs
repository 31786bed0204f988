//! The settings as variables of the OpenTofu modules. Secrets are none of them.

use serde_json::{Map, Value, json};

use crate::{KafkaMode, Settings, Storage};

/// The content of `terraform.tfvars.json`: what the settings say, and nothing where they leave it to the modules.
#[must_use]
pub fn variables(settings: &Settings) -> Value {
    let kafka = &settings.kafka;
    let mut all = Map::new();
    let mut set = |name: &str, value: Value| {
        let empty = match &value {
            Value::Null => true,
            Value::Array(list) => list.is_empty(),
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        if !empty {
            all.insert(name.to_owned(), value);
        }
    };
    set("name", json!(settings.name));
    set("region", json!(settings.region));
    set("account_id", json!(settings.account));
    set("vpc_id", json!(settings.vpc));
    set("subnet_ids", json!(settings.subnets));
    set("namespace", json!(settings.namespace()));
    set("profile", json!(settings.profile.as_str()));
    set("architecture", json!(settings.architecture));
    set("assign_public_ip", json!(settings.assign_public_ip));
    set("create_vpc_endpoints", json!(settings.create_vpc_endpoints));
    set("route_table_ids", json!(settings.route_table_ids));
    set("allowed_cidrs", json!(settings.allowed_cidrs));
    set("expose_kafka", json!(settings.expose_kafka));
    set("database_egress", json!(settings.database_egress));
    set("controllers", json!(kafka.controllers));
    set("brokers", json!(kafka.brokers));
    set("broker_storage", kafka.storage.as_ref().map_or(Value::Null, storage));
    set("kafka_retention_hours", json!(kafka.retention_hours));
    set("efs_id", json!(kafka.efs_id));
    set("workers", json!(settings.workers));
    set("enable_kafka_connect", json!(settings.connect));
    set("sizes", json!(settings.sizes));
    set("images", json!(settings.images));
    set("kms_key_arn", json!(settings.kms_key_arn));
    set("permissions_boundary_arn", json!(settings.permissions_boundary_arn));
    set("ui_certificate_secret_arn", json!(settings.ui_certificate_secret_arn));
    set("tags", json!(settings.tags));
    if kafka.mode == KafkaMode::Existing {
        set("kafka_mode", json!("existing"));
        set("kafka_existing", existing(settings));
    }
    Value::Object(all)
}

fn storage(storage: &Storage) -> Value {
    present([
        ("kind", json!(storage.kind)),
        ("size_gib", json!(storage.size_gib)),
        ("efs_mibps", json!(storage.efs_mibps)),
    ])
}

fn existing(settings: &Settings) -> Value {
    let kafka = &settings.kafka;
    present([
        ("bootstrap_servers", json!(kafka.bootstrap_servers)),
        ("security_protocol", json!(kafka.security_protocol)),
        ("sasl_mechanism", json!(kafka.sasl_mechanism)),
        ("secret_arn", json!(kafka.secret_arn)),
        ("private_ca", json!(kafka.private_ca)),
    ])
}

fn present<const N: usize>(members: [(&str, Value); N]) -> Value {
    let members = members.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(members.map(|(name, value)| (name.to_owned(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        Settings::parse(text, "lattice.yaml").unwrap()
    }

    #[test]
    fn every_variable_is_one_of_the_modules() {
        let mut full = settings(
            "name: shop\nregion: eu-west-1\naccount: '111122223333'\nvpc: vpc-1\nsubnets: [subnet-1]\narchitecture: ARM64\n\
             route_table_ids: [rtb-1]\nallowed_cidrs: [10.0.0.0/8]\ndatabase_egress: [10.0.0.0/8]\nworkers: 2\n\
             sizes: {ui: {cpu: 256, memory: 512}}\nimages: {lattice: x}\nkms_key_arn: a\npermissions_boundary_arn: b\n\
             ui_certificate_secret_arn: c\ntags: {a: b}\n\
             kafka: {controllers: 3, brokers: 3, retention_hours: 24, efs_id: fs-1, storage: {kind: efs}}\n",
        );
        full.kafka.mode = KafkaMode::Existing;
        full.kafka.bootstrap_servers = Some("k:9092".to_owned());
        let declared = include_str!("../../../deploy/tofu/variables.tf");
        let variables = variables(&full);
        for name in variables.as_object().unwrap().keys() {
            assert!(declared.contains(&format!("variable \"{name}\"")), "{name}");
        }
        assert_eq!(variables["kafka_existing"]["bootstrap_servers"], "k:9092");
        assert!(variables["kafka_existing"].get("secret_arn").is_none());
    }

    #[test]
    fn what_the_settings_leave_open_is_left_to_the_modules() {
        let variables = variables(&settings("name: shop\n"));
        assert!(variables.get("brokers").is_none() && variables.get("sizes").is_none());
        assert_eq!(variables["namespace"], "lattice.local");
    }
}
