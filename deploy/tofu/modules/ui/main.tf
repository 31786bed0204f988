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
}

resource "aws_service_discovery_service" "this" {
  name          = "lattice-ui"
  force_destroy = true
  tags          = var.tags

  dns_config {
    namespace_id   = var.namespace_id
    routing_policy = "MULTIVALUE"

    dns_records {
      type = "A"
      ttl  = 10
    }
  }

  health_check_custom_config {
    failure_threshold = 1
  }
}

resource "aws_ecs_task_definition" "this" {
  family                   = "${var.name}-ui"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = tostring(var.size.cpu)
  memory                   = tostring(var.size.memory)
  execution_role_arn       = var.execution_role
  task_role_arn            = var.task_role
  tags                     = merge(var.tags, { "lattice:secrets-version" = tostring(var.secrets_version) })

  runtime_platform {
    cpu_architecture        = var.architecture
    operating_system_family = "LINUX"
  }

  volume {
    name = "lattice"
  }

  container_definitions = jsonencode([{
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
  }])
}

resource "aws_ecs_service" "this" {
  name                               = "lattice-ui"
  cluster                            = var.cluster_arn
  task_definition                    = aws_ecs_task_definition.this.arn
  desired_count                      = var.replicas
  propagate_tags                     = "SERVICE"
  enable_execute_command             = var.enable_execute_command
  deployment_minimum_healthy_percent = 100
  deployment_maximum_percent         = 200
  tags                               = var.tags

  capacity_provider_strategy {
    capacity_provider = var.spot ? "FARGATE_SPOT" : "FARGATE"
    weight            = 1
  }

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  network_configuration {
    subnets          = var.subnet_ids
    security_groups  = [var.group_id]
    assign_public_ip = var.assign_public_ip
  }

  service_registries {
    registry_arn = aws_service_discovery_service.this.arn
  }

  depends_on = [terraform_data.ready]
}

resource "terraform_data" "ready" {
  input = var.role_policies
}
