resource "aws_service_discovery_service" "this" {
  name          = var.dns_name
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
  family                   = var.family
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = tostring(var.size.cpu)
  memory                   = tostring(var.size.memory)
  execution_role_arn       = var.execution_role
  task_role_arn            = var.task_role
  container_definitions    = var.container_definitions
  tags                     = merge(var.tags, { "lattice:secrets-version" = tostring(var.secrets_version) })

  runtime_platform {
    cpu_architecture        = var.architecture
    operating_system_family = "LINUX"
  }

  dynamic "volume" {
    for_each = var.volumes

    content {
      name = volume.value
    }
  }
}

resource "aws_ecs_service" "this" {
  name                               = var.service
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

  # What needs the brokers at its first start may come before them: no rollback there, it tries again.
  deployment_circuit_breaker {
    enable   = var.rollback
    rollback = var.rollback
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
