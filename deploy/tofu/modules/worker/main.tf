locals {
  sasl = startswith(var.kafka.security_protocol, "SASL")

  environment = {
    LATTICE_BOOTSTRAP_SERVERS       = var.kafka.bootstrap_servers
    LATTICE_KAFKA_SECURITY_PROTOCOL = var.kafka.security_protocol
    LATTICE_KAFKA_SASL_MECHANISM    = local.sasl ? var.kafka.sasl_mechanism : ""
    LATTICE_GROUP_ID                = var.name
    LATTICE_REGISTRY_URL            = "http://registry.${var.namespace}:8080/apis/registry/v3"
    LATTICE_LISTEN                  = "0.0.0.0:8083"
    LATTICE_ALLOW_HOST              = "lattice.${var.namespace}"
    LATTICE_LOG_FORMAT              = "json"
    LATTICE_CONTAINER_FOLDER        = "/lattice"
  }

  secrets = merge(
    local.sasl ? {
      LATTICE_KAFKA_USERNAME = "${var.kafka.secret_arn}:username::"
      LATTICE_KAFKA_PASSWORD = "${var.kafka.secret_arn}:password::"
    } : {},
    var.kafka.private_ca ? { LATTICE_KAFKA_CA = "${var.kafka.secret_arn}:ca::" } : {},
  )

  container = {
    name         = "lattice"
    image        = var.image
    essential    = true
    command      = ["container", "worker"]
    stopTimeout  = 60
    environment  = [for key, value in local.environment : { name = key, value = value } if value != ""]
    secrets      = [for key, from in local.secrets : { name = key, valueFrom = from }]
    portMappings = [{ containerPort = 8083, hostPort = 8083, protocol = "tcp" }]
    mountPoints  = [{ sourceVolume = "lattice", containerPath = "/lattice", readOnly = false }]
    healthCheck = {
      command     = ["CMD", "/lattice-bin/lattice", "container", "health", "http://127.0.0.1:8083/health"]
      interval    = 15
      timeout     = 5
      retries     = 4
      startPeriod = 120
    }
    readonlyRootFilesystem = true
    linuxParameters        = { initProcessEnabled = true, capabilities = { drop = ["ALL"] } }
    logConfiguration = {
      logDriver = "awslogs"
      options = {
        awslogs-group         = var.log_group
        awslogs-region        = var.region
        awslogs-stream-prefix = "worker"
        mode                  = "non-blocking"
        max-buffer-size       = "25m"
      }
    }
  }
}

module "service" {
  source = "../service"

  family                 = "${var.name}-worker"
  service                = "lattice-worker"
  dns_name               = "lattice"
  container_definitions  = jsonencode([local.container])
  volumes                = ["lattice"]
  replicas               = var.replicas
  spot                   = var.spot
  enable_execute_command = var.enable_execute_command
  namespace_id           = var.namespace_id
  size                   = var.size
  architecture           = var.architecture
  execution_role         = var.execution_role
  task_role              = var.task_role
  secrets_version        = var.secrets_version
  cluster_arn            = var.cluster_arn
  subnet_ids             = var.subnet_ids
  group_id               = var.group_id
  assign_public_ip       = var.assign_public_ip
  role_policies          = var.role_policies
  tags                   = var.tags
}
