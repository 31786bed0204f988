locals {
  profiles = {
    dev = {
      controllers = 0, brokers = 1, workers = 1, uis = 1, registries = 1
      log_days    = 3, retention_hours = 24, spot = true, insights = false, secret_recovery_days = 0, backup = false
      sizes = {
        controller = { cpu = 512, memory = 1024 }
        broker     = { cpu = 1024, memory = 2048 }
        registry   = { cpu = 512, memory = 1024 }
        worker     = { cpu = 256, memory = 512 }
        ui         = { cpu = 256, memory = 512 }
        connect    = { cpu = 512, memory = 2048 }
      }
    }
    small = {
      controllers = 3, brokers = 3, workers = 2, uis = 1, registries = 1
      log_days    = 14, retention_hours = 168, spot = false, insights = false, secret_recovery_days = 7, backup = false
      sizes = {
        controller = { cpu = 512, memory = 1024 }
        broker     = { cpu = 1024, memory = 4096 }
        registry   = { cpu = 512, memory = 1024 }
        worker     = { cpu = 512, memory = 1024 }
        ui         = { cpu = 256, memory = 512 }
        connect    = { cpu = 1024, memory = 2048 }
      }
    }
    production = {
      controllers = 3, brokers = 3, workers = 3, uis = 2, registries = 2
      log_days    = 30, retention_hours = 168, spot = false, insights = true, secret_recovery_days = 30, backup = true
      sizes = {
        controller = { cpu = 1024, memory = 2048 }
        broker     = { cpu = 2048, memory = 8192 }
        registry   = { cpu = 512, memory = 1024 }
        worker     = { cpu = 1024, memory = 2048 }
        ui         = { cpu = 256, memory = 512 }
        connect    = { cpu = 1024, memory = 4096 }
      }
    }
  }

  base        = local.profiles[var.profile]
  sizes       = merge(local.base.sizes, var.sizes)
  brokers     = coalesce(var.brokers, local.base.brokers)
  controllers = var.controllers == null ? local.base.controllers : var.controllers
  own_kafka   = var.kafka_mode == "new"

  # Three copies where there are three brokers; one copy may be missing without stopping writers.
  replication  = local.own_kafka ? min(3, local.brokers) : var.kafka_existing.replication
  min_in_sync  = local.replication >= 3 ? local.replication - 1 : 1
  tags         = merge(var.tags, { "lattice:cluster" = var.name, "lattice:managed-by" = "lattice-platform-cli" })
  iam_path     = "/lattice/"
  log_prefix   = "/lattice/${var.name}"
  client_names = { worker = "lattice", registry = "registry", connect = "connect" }

  kafka_client = local.own_kafka ? {
    bootstrap_servers = module.kafka[0].bootstrap_servers
    security_protocol = "SASL_SSL"
    sasl_mechanism    = "PLAIN"
    secret_arn        = module.secrets.arns["client"]
    private_ca        = true
    } : {
    bootstrap_servers = var.kafka_existing.bootstrap_servers
    security_protocol = var.kafka_existing.security_protocol
    sasl_mechanism    = var.kafka_existing.sasl_mechanism
    secret_arn        = var.kafka_existing.secret_arn
    private_ca        = var.kafka_existing.private_ca
  }
}
