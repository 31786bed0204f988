locals {
  certificate = coalesce(var.certificate_secret_arn, var.secret_arn)

  environment = {
    LATTICE_UPSTREAM         = "http://lattice.${var.namespace}:8083"
    LATTICE_CONSOLE_LISTEN   = "0.0.0.0:443"
    LATTICE_CONSOLE_HOST     = "lattice-ui.${var.namespace}"
    LATTICE_CONTAINER_FOLDER = "/lattice"
  }

  secrets = {
    LATTICE_CONSOLE_CERTIFICATE = "${local.certificate}:certificate::"
    LATTICE_CONSOLE_KEY         = "${local.certificate}:key::"
    LATTICE_CONSOLE_USER        = "${var.secret_arn}:username::"
    LATTICE_CONSOLE_PASSWORD    = "${var.secret_arn}:password::"
  }

  container = {
    name         = "lattice-ui"
    image        = var.image
    essential    = true
    command      = ["container", "ui"]
    stopTimeout  = 30
    environment  = [for key, value in local.environment : { name = key, value = value }]
    secrets      = [for key, from in local.secrets : { name = key, valueFrom = from }]
    portMappings = [{ containerPort = 443, hostPort = 443, protocol = "tcp" }]
    mountPoints  = [{ sourceVolume = "lattice", containerPath = "/lattice", readOnly = false }]
    # The user is not root, the port is 443 all the same.
    systemControls = [{ namespace = "net.ipv4.ip_unprivileged_port_start", value = "0" }]
    healthCheck = {
      command     = ["CMD", "/lattice-bin/lattice", "container", "health", "127.0.0.1:443"]
      interval    = 15
      timeout     = 5
      retries     = 4
      startPeriod = 30
    }
    readonlyRootFilesystem = true
    linuxParameters        = { initProcessEnabled = true, capabilities = { drop = ["ALL"] } }
    logConfiguration = {
      logDriver = "awslogs"
      options = {
        awslogs-group         = var.log_group
        awslogs-region        = var.region
        awslogs-stream-prefix = "ui"
        mode                  = "non-blocking"
        max-buffer-size       = "25m"
      }
    }
  }
}

module "service" {
  source = "../service"

  family                 = "${var.name}-ui"
  service                = "lattice-ui"
  dns_name               = "lattice-ui"
  container_definitions  = jsonencode([local.container])
  volumes                = ["lattice"]
  replicas               = var.replicas
  spot                   = var.spot
  enable_execute_command = var.enable_execute_command
  rollback               = true
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
