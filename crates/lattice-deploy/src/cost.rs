//! What the platform costs a month, roughly, from a table of prices with a date.

use serde::Deserialize;

use crate::{KafkaMode, Settings, sizing::Sizing};

#[derive(Deserialize)]
struct Prices {
    date: String,
    region: String,
    hours: f64,
    vcpu_hour: f64,
    gib_hour: f64,
    arm_factor: f64,
    spot_factor: f64,
    public_ipv4_hour: f64,
    efs_gib_month: f64,
    efs_provisioned_mibps_month: f64,
    ebs_gib_month: f64,
    endpoint_hour: f64,
    secret_month: f64,
    zone_month: f64,
    logs_gib: f64,
    cross_zone_gib: f64,
}

/// One line of the estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What costs.
    pub what: String,
    /// How much of it there is.
    pub amount: String,
    /// Dollars a month.
    pub dollars: f64,
}

/// The estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// What costs, line by line.
    pub lines: Vec<Line>,
    /// Where the prices are from.
    pub basis: String,
}

impl Estimate {
    /// Dollars a month.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.lines.iter().map(|line| line.dollars).sum()
    }
}

/// Estimates a month with a steady stream of so many MiB/s into Kafka and so many zones.
#[must_use]
pub fn estimate(settings: &Settings, mibps: f64, zones: usize) -> Estimate {
    // The file is part of the program: a test reads it.
    let Ok(prices) = serde_json::from_str::<Prices>(include_str!("prices.json")) else {
        return Estimate { lines: Vec::new(), basis: "the price table cannot be read".to_owned() };
    };
    let mut lines = Vec::new();
    let sizing = Sizing::of(settings);
    let arm = settings.architecture.as_deref() == Some("ARM64");
    for part in &sizing.parts {
        let (vcpu, gib) = (f64::from(part.size.cpu) / 1024.0, f64::from(part.size.memory) / 1024.0);
        let mut each = (vcpu * prices.vcpu_hour + gib * prices.gib_hour) * prices.hours;
        if arm {
            each *= prices.arm_factor;
        }
        if part.spot {
            each *= prices.spot_factor;
        }
        let spot = if part.spot { ", spot" } else { "" };
        lines.push(Line {
            what: part.role.to_owned(),
            amount: format!("{} × {vcpu} vCPU, {gib} GiB{spot}", part.count),
            dollars: each * f64::from(part.count),
        });
    }
    storage(settings, &sizing, mibps, &prices, &mut lines);
    around(settings, &sizing, mibps, zones, &prices, &mut lines);
    let basis = format!(
        "Prices of {} as of {}, at {mibps} MiB/s into Kafka. Not counted: NAT gateways and traffic out of the zone that \
         you have anyway, taxes, discounts. Elsewhere they differ by up to a third.",
        prices.region, prices.date
    );
    Estimate { lines, basis }
}

fn storage(
    settings: &Settings,
    sizing: &Sizing,
    mibps: f64,
    prices: &Prices,
    lines: &mut Vec<Line>,
) {
    if settings.kafka.mode != KafkaMode::New {
        return;
    }
    let copies = f64::from(sizing.brokers.min(3));
    let hours = f64::from(settings.kafka.retention_hours.unwrap_or(match settings.profile {
        crate::Profile::Dev => 24,
        _ => 168,
    }));
    let kept = mibps * 3600.0 * hours / 1024.0 * copies;
    let storage = settings.kafka.storage.as_ref();
    if storage.is_some_and(|storage| storage.kind == "ebs") {
        let size = f64::from(storage.and_then(|storage| storage.size_gib).unwrap_or(100));
        lines.push(Line {
            what: "EBS volumes of the brokers".to_owned(),
            amount: format!("{} × {size} GiB", sizing.brokers),
            dollars: size * f64::from(sizing.brokers) * prices.ebs_gib_month,
        });
        return;
    }
    lines.push(Line {
        what: "EFS, kept records".to_owned(),
        amount: format!("{kept:.0} GiB in {copies} copies, {hours} h"),
        dollars: kept.max(1.0) * prices.efs_gib_month,
    });
    if let Some(provisioned) = storage.and_then(|storage| storage.efs_mibps) {
        lines.push(Line {
            what: "EFS, provisioned throughput".to_owned(),
            amount: format!("{provisioned} MiB/s"),
            dollars: f64::from(provisioned) * prices.efs_provisioned_mibps_month,
        });
    }
}

fn around(
    settings: &Settings,
    sizing: &Sizing,
    mibps: f64,
    zones: usize,
    prices: &Prices,
    lines: &mut Vec<Line>,
) {
    let zones = u32::try_from(zones).unwrap_or(1);
    if settings.create_vpc_endpoints {
        let zones = if settings.profile == crate::Profile::Dev { 1 } else { zones };
        lines.push(Line {
            what: "VPC endpoints".to_owned(),
            amount: format!("4 in {zones} zones"),
            dollars: 4.0 * f64::from(zones) * prices.endpoint_hour * prices.hours,
        });
    }
    if settings.assign_public_ip {
        lines.push(Line {
            what: "public addresses".to_owned(),
            amount: sizing.tasks().to_string(),
            dollars: f64::from(sizing.tasks()) * prices.public_ipv4_hour * prices.hours,
        });
    }
    if settings.kafka.mode == KafkaMode::New && zones > 1 && sizing.brokers > 1 {
        let others = f64::from(sizing.brokers.min(3) - 1);
        let traffic = mibps * 3600.0 * prices.hours / 1024.0 * others;
        lines.push(Line {
            what: "copies across zones".to_owned(),
            amount: format!("{traffic:.0} GiB"),
            dollars: traffic * prices.cross_zone_gib,
        });
    }
    lines.push(Line {
        what: "secrets, DNS zone, logs".to_owned(),
        amount: "5 secrets, 1 zone, 5 GiB".to_owned(),
        dollars: 5.0 * prices.secret_month + prices.zone_month + 5.0 * prices.logs_gib,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, Storage};

    fn compute(profile: Profile) -> f64 {
        let estimate = estimate(&Settings { profile, ..Settings::default() }, 0.0, 3);
        estimate
            .lines
            .iter()
            .filter(|line| line.amount.contains("vCPU"))
            .map(|line| line.dollars)
            .sum()
    }

    #[test]
    fn the_profiles_cost_what_the_price_list_says() {
        assert!((compute(Profile::Small) - 245.0).abs() < 5.0, "{}", compute(Profile::Small));
        assert!(
            (compute(Profile::Production) - 525.0).abs() < 10.0,
            "{}",
            compute(Profile::Production)
        );
        assert!(compute(Profile::Dev) < 72.0);
    }

    #[test]
    fn volumes_and_endpoints_and_traffic_are_named() {
        let mut settings = Settings { create_vpc_endpoints: true, ..Settings::default() };
        settings.kafka.storage =
            Some(Storage { kind: "ebs".to_owned(), size_gib: None, efs_mibps: None });
        let estimate = estimate(&settings, 1.0, 3);
        let of = |what: &str| {
            estimate
                .lines
                .iter()
                .find(|line| line.what.contains(what))
                .map_or(0.0, |line| line.dollars)
        };
        assert!((of("EBS") - 24.0).abs() < 0.01);
        assert!((of("endpoints") - 87.6).abs() < 0.1);
        assert!((of("across zones") - 102.7).abs() < 1.0, "{}", of("across zones"));
    }
}
