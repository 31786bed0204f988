locals {
  sasl   = startswith(var.kafka.security_protocol, "SASL")
  tls    = endswith(var.kafka.security_protocol, "SSL")
  own_ca = local.tls && var.kafka.private_ca

  environment = merge({
    APICURIO_STORAGE_KIND                      = "kafkasql"
    APICURIO_KAFKASQL_BOOTSTRAP_SERVERS        = var.kafka.bootstrap_servers
    APICURIO_KAFKASQL_SECURITY_PROTOCOL        = var.kafka.security_protocol
    APICURIO_KAFKASQL_TOPIC                    = "${var.name}-registry-journal"
    APICURIO_KAFKASQL_SNAPSHOTS_TOPIC          = "${var.name}-registry-snapshots"
    APICURIO_EVENTS_KAFKA_TOPIC                = "${var.name}-registry-events"
    APICURIO_KAFKASQL_TOPIC_REPLICATION_FACTOR = tostring(var.replication)
    JAVA_OPTS_APPEND                           = "-XX:MaxRAMPercentage=60 -Dsun.net.inetaddr.ttl=5"
    }, local.sasl ? {
    # The registry's own SASL settings are for OAuth only; what begins with KAFKA_COMMON goes to its clients as it is.
    APICURIO_KAFKA_COMMON_SASL_MECHANISM = var.kafka.sasl_mechanism
    } : {}, local.own_ca ? {
    APICURIO_KAFKA_COMMON_SSL_TRUSTSTORE_LOCATION = "/lattice/tls/ca.crt"
    APICURIO_KAFKA_COMMON_SSL_TRUSTSTORE_TYPE     = "PEM"
  } : {})

  log = {
    logDriver = "awslogs"
    options = {
      awslogs-group         = var.log_group
      awslogs-region        = var.region
      awslogs-stream-prefix = "registry"
      mode                  = "non-blocking"
      max-buffer-size       = "25m"
    }
  }

  # Writes the authority's certificate where the registry, which reads files only, finds it.
  files = {
    name                   = "files"
    image                  = var.lattice_image
    essential              = false
    command                = ["container", "files"]
    environment            = [{ name = "LATTICE_CONTAINER_FOLDER", value = "/lattice" }]
    secrets                = [{ name = "LATTICE_KAFKA_CA", valueFrom = "${coalesce(var.kafka.secret_arn, "none")}:ca::" }]
    mountPoints            = [{ sourceVolume = "lattice", containerPath = "/lattice", readOnly = false }]
    readonlyRootFilesystem = true
    linuxParameters        = { capabilities = { drop = ["ALL"] } }
    logConfiguration       = local.log
  }

  registry = {
    name             = "registry"
    image            = var.image
    essential        = true
    stopTimeout      = 60
    environment      = [for key, value in local.environment : { name = key, value = value }]
    secrets          = local.sasl ? [{ name = "APICURIO_KAFKA_COMMON_SASL_JAAS_CONFIG", valueFrom = "${var.kafka.secret_arn}:jaas::" }] : []
    portMappings     = [{ containerPort = 8080, hostPort = 8080, protocol = "tcp" }]
    mountPoints      = local.own_ca ? [{ sourceVolume = "lattice", containerPath = "/lattice", readOnly = true }] : []
    dependsOn        = local.own_ca ? [{ containerName = "files", condition = "SUCCESS" }] : []
    linuxParameters  = { initProcessEnabled = true, capabilities = { drop = ["ALL"] } }
    logConfiguration = local.log
    healthCheck = {
      command     = ["CMD", "bash", "-c", "</dev/tcp/127.0.0.1/8080"]
      interval    = 30
      timeout     = 5
      retries     = 10
      startPeriod = 180
    }
  }
}

resource "aws_service_discovery_service" "this" {
  name          = "registry"
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
  family                   = "${var.name}-registry"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = tostring(var.size.cpu)
  memory                   = tostring(var.size.memory)
  execution_role_arn       = var.execution_role
  task_role_arn            = var.task_role
  container_definitions    = jsonencode(concat(local.own_ca ? [local.files] : [], [local.registry]))
  tags                     = merge(var.tags, { "lattice:secrets-version" = tostring(var.secrets_version) })

  runtime_platform {
    cpu_architecture        = var.architecture
    operating_system_family = "LINUX"
  }

  dynamic "volume" {
    for_each = local.own_ca ? ["lattice"] : []

    content {
      name = volume.value
    }
  }
}

resource "aws_ecs_service" "this" {
  name                               = "registry"
  cluster                            = var.cluster_arn
  task_definition                    = aws_ecs_task_definition.this.arn
  desired_count                      = var.replicas
  launch_type                        = "FARGATE"
  propagate_tags                     = "SERVICE"
  deployment_minimum_healthy_percent = 100
  deployment_maximum_percent         = 200
  tags                               = var.tags

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
