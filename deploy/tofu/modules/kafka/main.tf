locals {
  combined = var.controllers == 0

  # Ids are never used twice: controllers from 1, brokers from 101. A combined node is broker 1.
  controllers = local.combined ? {} : { for i in range(var.controllers) : "controller-${i + 1}" => {
    role = "controller", id = i + 1, zone = element(var.zones, i)
  } }
  brokers = { for i in range(var.brokers) : "broker-${i + 1}" => {
    role = "broker", id = local.combined ? i + 1 : 101 + i, zone = element(var.zones, i)
  } }
  nodes  = merge(local.controllers, local.brokers)
  voters = local.combined ? local.brokers : local.controllers

  voters_text       = join(",", [for name, node in local.voters : "${node.id}@${name}.${var.namespace}:9093"])
  bootstrap_servers = join(",", [for name in keys(local.brokers) : "${name}.${var.namespace}:9092"])
  durable           = { for name, node in local.nodes : name => node if node.role == "controller" || var.storage.kind == "efs" }

  # Half of the memory is heap, the rest the system's page cache; more than 5 GiB of heap helps nobody.
  heap = { for role, size in var.sizes : role => min(floor(size.memory / 2), 5120) }

  shared = {
    CLUSTER_ID                                             = var.cluster_id
    KAFKA_CONTROLLER_QUORUM_VOTERS                         = local.voters_text
    KAFKA_CONTROLLER_LISTENER_NAMES                        = "CONTROLLER"
    KAFKA_INTER_BROKER_LISTENER_NAME                       = "INTERNAL"
    KAFKA_LISTENER_SECURITY_PROTOCOL_MAP                   = "CONTROLLER:SSL,INTERNAL:SSL,CLIENT:SASL_SSL"
    KAFKA_LOG_DIRS                                         = "/var/lib/kafka/data/kafka-log"
    KAFKA_SSL_KEYSTORE_TYPE                                = "PEM"
    KAFKA_SSL_TRUSTSTORE_TYPE                              = "PEM"
    KAFKA_LISTENER_NAME_CONTROLLER_SSL_CLIENT_AUTH         = "required"
    KAFKA_LISTENER_NAME_INTERNAL_SSL_CLIENT_AUTH           = "required"
    KAFKA_LISTENER_NAME_CLIENT_SSL_CLIENT_AUTH             = "none"
    KAFKA_LISTENER_NAME_CLIENT_SASL_ENABLED_MECHANISMS     = "PLAIN"
    KAFKA_AUTHORIZER_CLASS_NAME                            = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    KAFKA_SUPER_USERS                                      = "User:CN=kafka-node;User:lattice;User:registry;User:connect;User:admin"
    KAFKA_ALLOW_EVERYONE_IF_NO_ACL_FOUND                   = tostring(var.open_without_acl)
    KAFKA_DEFAULT_REPLICATION_FACTOR                       = tostring(var.replication)
    KAFKA_MIN_INSYNC_REPLICAS                              = tostring(var.min_in_sync)
    KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR                 = tostring(var.replication)
    KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR         = tostring(var.replication)
    KAFKA_TRANSACTION_STATE_LOG_MIN_ISR                    = tostring(var.min_in_sync)
    KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR = tostring(var.replication)
    KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR            = tostring(var.min_in_sync)
    KAFKA_AUTO_CREATE_TOPICS_ENABLE                        = "false"
    KAFKA_UNCLEAN_LEADER_ELECTION_ENABLE                   = "false"
    KAFKA_NUM_PARTITIONS                                   = var.brokers >= 3 ? "3" : "1"
    KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS                 = var.brokers >= 3 ? "3000" : "0"
    KAFKA_LOG_RETENTION_HOURS                              = tostring(var.retention_hours)
    KAFKA_LOG_SEGMENT_BYTES                                = tostring((var.brokers >= 3 ? 512 : 128) * 1024 * 1024)
    KAFKA_COMPRESSION_TYPE                                 = "producer"
    # Task addresses change: a name must not be remembered for longer than its record lives.
    KAFKA_OPTS = "-Dsun.net.inetaddr.ttl=5 -Dsun.net.inetaddr.negative.ttl=0"
  }

  of_role = {
    controller = {
      KAFKA_PROCESS_ROLES = "controller"
      KAFKA_LISTENERS     = "CONTROLLER://0.0.0.0:9093"
    }
    broker = merge({
      KAFKA_PROCESS_ROLES = local.combined ? "broker,controller" : "broker"
      KAFKA_LISTENERS     = "${local.combined ? "CONTROLLER://0.0.0.0:9093," : ""}INTERNAL://0.0.0.0:9094,CLIENT://0.0.0.0:9092"
      }, var.brokers >= 3 ? {
      KAFKA_REPLICA_SELECTOR_CLASS = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    } : {})
  }

  environment = { for name, node in local.nodes : name => merge(local.shared, local.of_role[node.role], {
    KAFKA_NODE_ID   = tostring(node.id)
    KAFKA_HEAP_OPTS = "-Xms${local.heap[node.role]}m -Xmx${local.heap[node.role]}m"
    }, node.role == "broker" ? {
    KAFKA_ADVERTISED_LISTENERS = "INTERNAL://${name}.${var.namespace}:9094,CLIENT://${name}.${var.namespace}:9092"
    KAFKA_BROKER_RACK          = var.zone_ids[node.zone]
  } : {}) }

  secrets = {
    KAFKA_SSL_KEYSTORE_KEY                            = "key"
    KAFKA_SSL_KEYSTORE_CERTIFICATE_CHAIN              = "certificate"
    KAFKA_SSL_TRUSTSTORE_CERTIFICATES                 = "ca"
    KAFKA_LISTENER_NAME_CLIENT_PLAIN_SASL_JAAS_CONFIG = "client_jaas"
  }
  # Retention by size guards a volume that cannot grow by itself.
  retention_bytes = var.storage.kind == "ebs" ? { KAFKA_LOG_RETENTION_BYTES = tostring(floor(var.storage.size_gib * 1024 * 1024 * 1024 * 0.02)) } : {}
}

resource "aws_service_discovery_service" "node" {
  for_each = local.nodes

  name          = each.key
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

  # While the only instance is unhealthy, Route 53 answers with it all the same: the quorum can form.
  health_check_custom_config {
    failure_threshold = 1
  }
}

resource "aws_ecs_task_definition" "node" {
  for_each = local.nodes

  family                   = "${var.name}-${each.key}"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = tostring(var.sizes[each.value.role].cpu)
  memory                   = tostring(var.sizes[each.value.role].memory)
  execution_role_arn       = var.execution_role
  task_role_arn            = var.task_role
  tags                     = merge(var.tags, { "lattice:secrets-version" = tostring(var.secrets_version) })

  runtime_platform {
    cpu_architecture        = var.architecture
    operating_system_family = "LINUX"
  }

  volume {
    name                = "data"
    configure_at_launch = contains(keys(local.durable), each.key) ? null : true

    dynamic "efs_volume_configuration" {
      for_each = contains(keys(local.durable), each.key) ? [var.access_point_ids[each.key]] : []

      content {
        file_system_id     = var.file_system_id
        transit_encryption = "ENABLED"

        authorization_config {
          access_point_id = efs_volume_configuration.value
          iam             = "ENABLED"
        }
      }
    }
  }

  container_definitions = jsonencode([{
    name        = "kafka"
    image       = var.image
    essential   = true
    stopTimeout = 120
    environment = [for key, value in merge(local.environment[each.key], local.retention_bytes) : { name = key, value = value }]
    secrets     = [for key, member in local.secrets : { name = key, valueFrom = "${var.secret_arn}:${member}::" }]
    mountPoints = [{ sourceVolume = "data", containerPath = "/var/lib/kafka/data", readOnly = false }]
    portMappings = [for port in(each.value.role == "controller" ? [9093] : local.combined ? [9092, 9093, 9094] : [9092, 9094]) : {
      containerPort = port, hostPort = port, protocol = "tcp"
    }]
    # A connection, not a tool: each of Kafka's tools starts a JVM of 256 MB.
    healthCheck = {
      command     = ["CMD", "bash", "-c", "</dev/tcp/127.0.0.1/${each.value.role == "controller" ? 9093 : 9092}"]
      interval    = 30
      timeout     = 5
      retries     = 10
      startPeriod = 300
    }
    # A lock that the file system has not let go of yet: try again inside the task.
    restartPolicy   = { enabled = true, restartAttemptPeriod = 60 }
    linuxParameters = { initProcessEnabled = true, capabilities = { drop = ["ALL"] } }
    ulimits         = [{ name = "nofile", softLimit = 65535, hardLimit = 65535 }]
    logConfiguration = {
      logDriver = "awslogs"
      options = {
        awslogs-group         = var.log_group
        awslogs-region        = var.region
        awslogs-stream-prefix = each.key
        mode                  = "non-blocking"
        max-buffer-size       = "25m"
      }
    }
  }])
}

resource "aws_ecs_service" "node" {
  for_each = local.nodes

  name            = each.key
  cluster         = var.cluster_arn
  task_definition = aws_ecs_task_definition.node[each.key].arn
  desired_count   = 1
  launch_type     = "FARGATE"
  propagate_tags  = "SERVICE"
  # Two tasks of one node must never run at the same time: the old one goes first.
  deployment_minimum_healthy_percent = 0
  deployment_maximum_percent         = 100
  availability_zone_rebalancing      = "DISABLED"
  # At creation all must start together to elect a leader; changes are to be applied node by node (docs/deploy-aws.md).
  wait_for_steady_state = false
  tags                  = var.tags

  # Going back to older binaries after a metadata upgrade is not safe.
  deployment_circuit_breaker {
    enable   = true
    rollback = false
  }

  network_configuration {
    subnets          = [var.subnet_by_zone[each.value.zone]]
    security_groups  = [var.group_ids[each.value.role]]
    assign_public_ip = var.assign_public_ip
  }

  service_registries {
    registry_arn = aws_service_discovery_service.node[each.key].arn
  }

  dynamic "volume_configuration" {
    for_each = contains(keys(local.durable), each.key) ? [] : ["data"]

    content {
      name = volume_configuration.value

      managed_ebs_volume {
        role_arn         = var.volume_role
        size_in_gb       = var.storage.size_gib
        volume_type      = "gp3"
        throughput       = var.storage.throughput_mibps
        iops             = var.storage.iops
        encrypted        = true
        kms_key_id       = var.kms_key_arn
        file_system_type = "ext4"

        tag_specifications {
          resource_type  = "volume"
          propagate_tags = "SERVICE"
          tags           = var.tags
        }
      }
    }
  }

  # Without the policies a service can hang in DRAINING; without the mount target its tasks cannot start.
  depends_on = [terraform_data.ready]
}

resource "terraform_data" "ready" {
  input = [var.role_policies, var.mount_targets]
}
