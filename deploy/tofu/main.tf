data "aws_caller_identity" "current" {
  lifecycle {
    postcondition {
      condition     = self.account_id == var.account_id
      error_message = "The credentials belong to account ${self.account_id}, the platform to ${var.account_id}."
    }
  }
}

module "network" {
  source = "./modules/network"

  name                 = var.name
  region               = var.region
  vpc_id               = var.vpc_id
  subnet_ids           = var.subnet_ids
  namespace            = var.namespace
  create_vpc_endpoints = var.create_vpc_endpoints
  single_zone          = var.profile == "dev"
  route_table_ids      = var.route_table_ids
  endpoint_group_id    = module.security.group_ids["endpoints"]
  tags                 = local.tags
}

module "security" {
  source = "./modules/security"

  name            = var.name
  vpc_id          = var.vpc_id
  allowed_cidrs   = var.allowed_cidrs
  expose_kafka    = var.expose_kafka && local.own_kafka
  database_egress = var.database_egress
  combined_nodes  = local.controllers == 0
  tags            = local.tags
}

module "observability" {
  source = "./modules/observability"

  name           = var.name
  prefix         = local.log_prefix
  services       = concat(local.own_kafka ? ["kafka"] : [], ["registry", "worker", "ui"], var.enable_kafka_connect ? ["connect"] : [])
  retention_days = coalesce(var.log_retention_days, local.base.log_days)
  insights       = local.base.insights
  kms_key_arn    = var.kms_key_arn
  tags           = local.tags
}

module "secrets" {
  source = "./modules/secrets"

  name            = var.name
  components      = concat(local.own_kafka ? ["kafka", "client", "registry"] : [], ["ui"], var.enable_kafka_connect && local.own_kafka ? ["connect"] : [])
  recovery_days   = local.base.secret_recovery_days
  kms_key_arn     = var.kms_key_arn
  secrets_version = var.secrets_version
  secrets         = var.secrets
  tags            = local.tags
}

module "storage" {
  source = "./modules/storage"
  count  = local.own_kafka ? 1 : 0

  name             = var.name
  efs_id           = var.efs_id
  subnet_by_zone   = module.network.subnet_by_zone
  group_id         = module.security.group_ids["storage"]
  kms_key_arn      = var.kms_key_arn
  throughput_mibps = var.broker_storage.efs_mibps
  backup           = local.base.backup
  nodes            = module.kafka[0].durable_nodes
  tags             = local.tags
}

module "iam" {
  source = "./modules/iam"

  name                     = var.name
  region                   = var.region
  account_id               = var.account_id
  path                     = local.iam_path
  permissions_boundary_arn = var.permissions_boundary_arn
  kms_key_arn              = var.kms_key_arn
  log_group_arns           = values(module.observability.log_group_arns)
  secret_arns = merge(
    { for component, arn in module.secrets.arns : component => arn },
    var.kafka_existing != null && try(var.kafka_existing.secret_arn, null) != null ? { existing = var.kafka_existing.secret_arn } : {},
    var.ui_certificate_secret_arn == null ? {} : { certificate = var.ui_certificate_secret_arn },
  )
  file_system_arn        = local.own_kafka ? module.storage[0].file_system_arn : null
  access_point_arns      = local.own_kafka ? values(module.storage[0].access_point_arns) : []
  own_kafka              = local.own_kafka
  ebs                    = local.own_kafka && var.broker_storage.kind == "ebs"
  enable_execute_command = var.enable_execute_command
  tags                   = local.tags
}

module "kafka" {
  source = "./modules/kafka"
  count  = local.own_kafka ? 1 : 0

  name             = var.name
  region           = var.region
  cluster_arn      = module.observability.cluster_arn
  cluster_id       = var.cluster_id
  image            = var.images.kafka
  architecture     = var.architecture
  assign_public_ip = var.assign_public_ip
  controllers      = local.controllers
  brokers          = local.brokers
  sizes            = { controller = local.sizes.controller, broker = local.sizes.broker }
  namespace        = var.namespace
  namespace_id     = module.network.namespace_id
  zones            = module.network.zones
  subnet_by_zone   = module.network.subnet_by_zone
  zone_ids         = module.network.zone_ids
  group_ids        = module.security.group_ids
  replication      = local.replication
  min_in_sync      = local.min_in_sync
  retention_hours  = coalesce(var.kafka_retention_hours, local.base.retention_hours)
  open_without_acl = var.profile != "production"
  storage          = var.broker_storage
  file_system_id   = module.storage[0].file_system_id
  access_point_ids = module.storage[0].access_point_ids
  mount_targets    = module.storage[0].mount_targets
  kms_key_arn      = var.kms_key_arn
  secret_arn       = module.secrets.arns["kafka"]
  secrets_version  = var.secrets_version
  execution_role   = module.iam.execution_role_arn
  task_role        = module.iam.kafka_task_role_arn
  volume_role      = module.iam.volume_role_arn
  log_group        = module.observability.log_groups["kafka"]
  role_policies    = module.iam.policies
  tags             = local.tags
}

module "registry" {
  source = "./modules/registry"

  name             = var.name
  region           = var.region
  namespace        = var.namespace
  cluster_arn      = module.observability.cluster_arn
  image            = var.images.registry
  lattice_image    = var.images.lattice
  architecture     = var.architecture
  assign_public_ip = var.assign_public_ip
  replicas         = coalesce(var.registries, local.base.registries)
  size             = local.sizes.registry
  subnet_ids       = module.network.subnet_ids
  group_id         = module.security.group_ids["registry"]
  namespace_id     = module.network.namespace_id
  kafka            = merge(local.kafka_client, local.own_kafka ? { secret_arn = module.secrets.arns["registry"] } : {})
  secrets_version  = var.secrets_version
  replication      = local.replication
  execution_role   = module.iam.execution_role_arn
  task_role        = module.iam.plain_task_role_arn
  log_group        = module.observability.log_groups["registry"]
  role_policies    = module.iam.policies
  tags             = local.tags
}

module "worker" {
  source = "./modules/worker"

  name                   = var.name
  region                 = var.region
  cluster_arn            = module.observability.cluster_arn
  image                  = var.images.lattice
  architecture           = var.architecture
  assign_public_ip       = var.assign_public_ip
  replicas               = coalesce(var.workers, local.base.workers)
  spot                   = local.base.spot
  size                   = local.sizes.worker
  subnet_ids             = module.network.subnet_ids
  group_id               = module.security.group_ids["worker"]
  namespace              = var.namespace
  namespace_id           = module.network.namespace_id
  kafka                  = local.kafka_client
  secrets_version        = var.secrets_version
  execution_role         = module.iam.execution_role_arn
  task_role              = module.iam.worker_task_role_arn
  enable_execute_command = var.enable_execute_command
  log_group              = module.observability.log_groups["worker"]
  role_policies          = module.iam.policies
  tags                   = local.tags
}

module "ui" {
  source = "./modules/ui"

  name                   = var.name
  region                 = var.region
  cluster_arn            = module.observability.cluster_arn
  image                  = var.images.lattice
  architecture           = var.architecture
  assign_public_ip       = var.assign_public_ip
  replicas               = coalesce(var.uis, local.base.uis)
  spot                   = local.base.spot
  size                   = local.sizes.ui
  subnet_ids             = module.network.subnet_ids
  group_id               = module.security.group_ids["ui"]
  namespace              = var.namespace
  namespace_id           = module.network.namespace_id
  secret_arn             = module.secrets.arns["ui"]
  certificate_secret_arn = var.ui_certificate_secret_arn
  secrets_version        = var.secrets_version
  execution_role         = module.iam.execution_role_arn
  task_role              = module.iam.plain_task_role_arn
  enable_execute_command = var.enable_execute_command
  log_group              = module.observability.log_groups["ui"]
  role_policies          = module.iam.policies
  tags                   = local.tags
}

module "connect" {
  source = "./modules/connect"
  count  = var.enable_kafka_connect ? 1 : 0

  name             = var.name
  region           = var.region
  cluster_arn      = module.observability.cluster_arn
  image            = var.images.connect
  lattice_image    = var.images.lattice
  architecture     = var.architecture
  assign_public_ip = var.assign_public_ip
  size             = local.sizes.connect
  subnet_ids       = module.network.subnet_ids
  group_id         = module.security.group_ids["connect"]
  namespace        = var.namespace
  namespace_id     = module.network.namespace_id
  kafka            = merge(local.kafka_client, local.own_kafka ? { secret_arn = module.secrets.arns["connect"] } : {})
  secrets_version  = var.secrets_version
  replication      = local.replication
  execution_role   = module.iam.execution_role_arn
  task_role        = module.iam.worker_task_role_arn
  log_group        = module.observability.log_groups["connect"]
  role_policies    = module.iam.policies
  tags             = local.tags
}

# What single variables cannot say of each other.
resource "terraform_data" "sense" {
  input = var.name

  lifecycle {
    precondition {
      condition     = local.own_kafka || var.kafka_existing != null
      error_message = "kafka_mode = existing needs kafka_existing."
    }
    precondition {
      condition     = !local.own_kafka || var.cluster_id != null
      error_message = "kafka_mode = new needs cluster_id: 22 characters of URL-safe base64, made once."
    }
    precondition {
      condition     = !local.own_kafka || local.controllers > 0 || local.brokers == 1
      error_message = "controllers = 0 (one node that is broker and controller) goes with brokers = 1 only."
    }
    precondition {
      condition     = !local.own_kafka || var.broker_storage.kind == "efs" || (local.brokers >= 3 && local.controllers >= 3)
      error_message = "broker_storage.kind = ebs loses a broker's data whenever it is replaced: it needs three brokers and three controllers."
    }
    precondition {
      condition     = var.profile == "dev" || length(module.network.zones) >= 2
      error_message = "The subnets lie in one availability zone; small and production need two, better three."
    }
    precondition {
      condition     = !var.create_vpc_endpoints || length(var.route_table_ids) > 0
      error_message = "create_vpc_endpoints needs route_table_ids for the S3 gateway endpoint."
    }
  }
}
