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

module "service" {
  source = "../service"

  family                = "${var.name}-registry"
  service               = "registry"
  dns_name              = "registry"
  container_definitions = jsonencode(concat(local.own_ca ? [local.files] : [], [local.registry]))
  volumes               = local.own_ca ? ["lattice"] : []
  replicas              = var.replicas
  namespace_id          = var.namespace_id
  size                  = var.size
  architecture          = var.architecture
  execution_role        = var.execution_role
  task_role             = var.task_role
  secrets_version       = var.secrets_version
  cluster_arn           = var.cluster_arn
  subnet_ids            = var.subnet_ids
  group_id              = var.group_id
  assign_public_ip      = var.assign_public_ip
  role_policies         = var.role_policies
  tags                  = var.tags
}
