locals {
  sasl   = startswith(var.kafka.security_protocol, "SASL")
  own_ca = endswith(var.kafka.security_protocol, "SSL") && var.kafka.private_ca
  # The worker, its producers, its consumers and its admin client each need the connection's settings.
  clients = ["CONNECT_", "CONNECT_PRODUCER_", "CONNECT_CONSUMER_"]

  connection = merge([for prefix in local.clients : merge({
    "${prefix}SECURITY_PROTOCOL" = var.kafka.security_protocol
    }, local.sasl ? {
    "${prefix}SASL_MECHANISM" = var.kafka.sasl_mechanism
    } : {}, local.own_ca ? {
    "${prefix}SSL_TRUSTSTORE_TYPE"     = "PEM"
    "${prefix}SSL_TRUSTSTORE_LOCATION" = "/lattice/tls/ca.crt"
  } : {})]...)

  environment = merge(local.connection, {
    BOOTSTRAP_SERVERS                                         = var.kafka.bootstrap_servers
    GROUP_ID                                                  = "${var.name}-connect"
    CONFIG_STORAGE_TOPIC                                      = "${var.name}-connect-configs"
    OFFSET_STORAGE_TOPIC                                      = "${var.name}-connect-offsets"
    STATUS_STORAGE_TOPIC                                      = "${var.name}-connect-statuses"
    CONNECT_CONFIG_STORAGE_REPLICATION_FACTOR                 = tostring(var.replication)
    CONNECT_OFFSET_STORAGE_REPLICATION_FACTOR                 = tostring(var.replication)
    CONNECT_STATUS_STORAGE_REPLICATION_FACTOR                 = tostring(var.replication)
    ENABLE_APICURIO_CONVERTERS                                = "true"
    KEY_CONVERTER                                             = "io.apicurio.registry.utils.converter.AvroConverter"
    VALUE_CONVERTER                                           = "io.apicurio.registry.utils.converter.AvroConverter"
    CONNECT_KEY_CONVERTER_APICURIO_REGISTRY_URL               = "http://registry.${var.namespace}:8080/apis/registry/v3"
    CONNECT_VALUE_CONVERTER_APICURIO_REGISTRY_URL             = "http://registry.${var.namespace}:8080/apis/registry/v3"
    "CONNECT_KEY_CONVERTER_APICURIO_REGISTRY_AUTO-REGISTER"   = "true"
    "CONNECT_VALUE_CONVERTER_APICURIO_REGISTRY_AUTO-REGISTER" = "true"
    HEAP_OPTS                                                 = "-Xms${floor(var.size.memory * 0.6)}m -Xmx${floor(var.size.memory * 0.6)}m"
    SHUTDOWN_TIMEOUT                                          = "30000"
  })

  log = {
    logDriver = "awslogs"
    options = {
      awslogs-group         = var.log_group
      awslogs-region        = var.region
      awslogs-stream-prefix = "connect"
      mode                  = "non-blocking"
      max-buffer-size       = "25m"
    }
  }

  # Writes the authority's certificate where the worker finds it.
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

  connect = {
    name        = "connect"
    image       = var.image
    essential   = true
    stopTimeout = 60
    environment = [for key, value in local.environment : { name = key, value = value }]
    secrets = local.sasl ? [for prefix in local.clients : {
      name = "${prefix}SASL_JAAS_CONFIG", valueFrom = "${var.kafka.secret_arn}:jaas::"
    }] : []
    portMappings     = [{ containerPort = 8083, hostPort = 8083, protocol = "tcp" }]
    mountPoints      = local.own_ca ? [{ sourceVolume = "lattice", containerPath = "/lattice", readOnly = true }] : []
    dependsOn        = local.own_ca ? [{ containerName = "files", condition = "SUCCESS" }] : []
    linuxParameters  = { initProcessEnabled = true, capabilities = { drop = ["ALL"] } }
    logConfiguration = local.log
    healthCheck = {
      command     = ["CMD", "bash", "-c", "</dev/tcp/127.0.0.1/8083"]
      interval    = 30
      timeout     = 5
      retries     = 10
      startPeriod = 180
    }
  }
}

module "service" {
  source = "../service"

  family                = "${var.name}-connect"
  service               = "connect"
  dns_name              = "connect"
  container_definitions = jsonencode(concat(local.own_ca ? [local.files] : [], [local.connect]))
  volumes               = local.own_ca ? ["lattice"] : []
  replicas              = 1
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
