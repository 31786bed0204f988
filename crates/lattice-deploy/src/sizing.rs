//! How many tasks of which size: the profile with the settings' own values over it.

use crate::{KafkaMode, Profile, Settings, Size};

/// One kind of task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its role: controller, broker, registry, worker, ui, connect.
    pub role: &'static str,
    /// Tasks.
    pub count: u32,
    /// Size of each.
    pub size: Size,
    /// On spare capacity.
    pub spot: bool,
}

/// All tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizing {
    /// Kafka controllers; 0: the broker is one.
    pub controllers: u32,
    /// Kafka brokers.
    pub brokers: u32,
    /// Every kind of task that there will be.
    pub parts: Vec<Part>,
}

type Row = (&'static str, [u32; 3], [(u32, u32); 3]);

/// Roles with the profile's count and size, in the order dev, small, production.
const ROLES: [Row; 6] = [
    ("controller", [0, 3, 3], [(512, 1024), (512, 1024), (1024, 2048)]),
    ("broker", [1, 3, 3], [(1024, 2048), (1024, 4096), (2048, 8192)]),
    ("registry", [1, 1, 2], [(512, 1024), (512, 1024), (512, 1024)]),
    ("worker", [1, 2, 3], [(256, 512), (512, 1024), (1024, 2048)]),
    ("ui", [1, 1, 2], [(256, 512), (256, 512), (256, 512)]),
    ("connect", [1, 1, 1], [(512, 2048), (1024, 2048), (1024, 4096)]),
];

impl Sizing {
    /// What these settings ask for.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        let column = match settings.profile {
            Profile::Dev => 0,
            Profile::Small => 1,
            Profile::Production => 2,
        };
        let new_kafka = settings.kafka.mode == KafkaMode::New;
        let mut parts = Vec::new();
        for (role, counts, sizes) in ROLES {
            let wanted = match role {
                "controller" => settings.kafka.controllers,
                "broker" => settings.kafka.brokers,
                "worker" => settings.workers,
                _ => None,
            };
            let there = match role {
                "controller" | "broker" => new_kafka,
                "connect" => settings.connect,
                _ => true,
            };
            let count = if there { wanted.unwrap_or(counts[column]) } else { 0 };
            let (cpu, memory) = sizes[column];
            let size = settings.sizes.get(role).copied().unwrap_or(Size { cpu, memory });
            let spot = settings.profile == Profile::Dev && matches!(role, "worker" | "ui");
            parts.push(Part { role, count, size, spot });
        }
        let count = |role: &str| {
            parts.iter().find(|part: &&Part| part.role == role).map_or(0, |part| part.count)
        };
        let (controllers, brokers) = (count("controller"), count("broker"));
        parts.retain(|part| part.count > 0);
        Self { controllers, brokers, parts }
    }

    /// Tasks altogether.
    #[must_use]
    pub fn tasks(&self) -> u32 {
        self.parts.iter().map(|part| part.count).sum()
    }

    /// CPU units of on-demand tasks, which the account's quota must allow.
    #[must_use]
    pub fn on_demand_cpu(&self) -> u32 {
        let counted = self.parts.iter().filter(|part| !part.spot);
        counted.map(|part| part.count * part.size.cpu).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_have_the_same_profiles() {
        let text = include_str!("../../../deploy/tofu/locals.tf");
        for (column, profile) in ["dev", "small", "production"].into_iter().enumerate() {
            let start = text.find(&format!("    {profile} = {{")).unwrap();
            let block = &text[start..start + text[start..].find("\n    }\n").unwrap()];
            for (role, counts, sizes) in ROLES {
                let (cpu, memory) = sizes[column];
                let size = format!("= {{ cpu = {cpu}, memory = {memory} }}");
                let line =
                    block.lines().find(|line| line.trim_start().starts_with(&format!("{role} ")));
                let line = line.unwrap();
                assert!(line.contains(&size), "{profile} {role}: {line}");
                let plural = match role {
                    "registry" => "registries".to_owned(),
                    other => format!("{other}s"),
                };
                let count = format!("{plural} = {}", counts[column]);
                assert!(role == "connect" || block.contains(&count), "{profile}: {count}");
            }
        }
    }

    #[test]
    fn the_small_profile_needs_six_and_a_quarter_processors() {
        let sizing = Sizing::of(&Settings::default());
        assert_eq!((sizing.controllers, sizing.brokers, sizing.tasks()), (3, 3, 10));
        assert_eq!(sizing.on_demand_cpu(), 6400);
    }

    #[test]
    fn an_existing_kafka_needs_no_nodes() {
        let mut settings = Settings { connect: true, ..Settings::default() };
        settings.kafka.mode = KafkaMode::Existing;
        let roles: Vec<_> = Sizing::of(&settings).parts.iter().map(|part| part.role).collect();
        assert_eq!(roles, ["registry", "worker", "ui", "connect"]);
    }
}
