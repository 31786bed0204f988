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
}

resource "aws_service_discovery_service" "this" {
  name          = "lattice"
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
  family                   = "${var.name}-worker"
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
  }])
}

resource "aws_ecs_service" "this" {
  name                               = "lattice-worker"
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

  # The brokers may not be there yet when it first starts: no rollback, it tries again.
  deployment_circuit_breaker {
    enable   = false
    rollback = false
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
