locals {
  roles = {
    controller = "Kafka controllers"
    broker     = "Kafka brokers"
    registry   = "Schema registry"
    worker     = "Lattice workers"
    connect    = "Kafka Connect workers"
    ui         = "Lattice console"
    storage    = "Kafka's file system"
    endpoints  = "VPC endpoints"
  }

  # from a group, to a group, on a port
  paths = {
    broker_client_worker   = { from = "worker", to = "broker", port = 9092, what = "Kafka clients" }
    broker_client_registry = { from = "registry", to = "broker", port = 9092, what = "Kafka clients" }
    broker_client_connect  = { from = "connect", to = "broker", port = 9092, what = "Kafka clients" }
    broker_internal        = { from = "broker", to = "broker", port = 9094, what = "Replication" }
    controller_broker      = { from = "broker", to = "controller", port = 9093, what = "Quorum" }
    controller_controller  = { from = "controller", to = "controller", port = 9093, what = "Quorum" }
    storage_broker         = { from = "broker", to = "storage", port = 2049, what = "NFS" }
    storage_controller     = { from = "controller", to = "storage", port = 2049, what = "NFS" }
    registry_worker        = { from = "worker", to = "registry", port = 8080, what = "Schemas" }
    registry_connect       = { from = "connect", to = "registry", port = 8080, what = "Schemas" }
    registry_ui            = { from = "ui", to = "registry", port = 8080, what = "Schemas" }
    worker_ui              = { from = "ui", to = "worker", port = 8083, what = "REST API" }
    worker_worker          = { from = "worker", to = "worker", port = 8083, what = "REST calls passed on" }
    connect_worker         = { from = "worker", to = "connect", port = 8083, what = "REST API" }
    connect_ui             = { from = "ui", to = "connect", port = 8083, what = "REST API" }
    connect_connect        = { from = "connect", to = "connect", port = 8083, what = "REST calls passed on" }
  }
  combined = var.combined_nodes ? { combined_quorum = { from = "broker", to = "broker", port = 9093, what = "Quorum" } } : {}
  tasks    = ["controller", "broker", "registry", "worker", "connect", "ui"]

  # Databases listen anywhere; what workers may reach is everything, or HTTPS, Kafka and the ranges given.
  open_egress = [for role in local.tasks : role if !(contains(["worker", "connect"], role) && length(var.database_egress) > 0)]
  databases   = { for pair in setproduct(["worker", "connect"], var.database_egress) : "${pair[0]}-${pair[1]}" => { role = pair[0], cidr = pair[1] } }
}

resource "aws_security_group" "this" {
  for_each = local.roles

  name_prefix            = "${var.name}-${each.key}-"
  description            = "Lattice ${var.name}: ${each.value}"
  vpc_id                 = var.vpc_id
  revoke_rules_on_delete = true
  tags                   = merge(var.tags, { Name = "${var.name}-${each.key}" })

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "path" {
  for_each = merge(local.paths, local.combined)

  security_group_id            = aws_security_group.this[each.value.to].id
  referenced_security_group_id = aws_security_group.this[each.value.from].id
  ip_protocol                  = "tcp"
  from_port                    = each.value.port
  to_port                      = each.value.port
  description                  = "${each.value.what} from ${local.roles[each.value.from]}"
  tags                         = var.tags
}

resource "aws_vpc_security_group_ingress_rule" "endpoints" {
  for_each = toset(local.tasks)

  security_group_id            = aws_security_group.this["endpoints"].id
  referenced_security_group_id = aws_security_group.this[each.key].id
  ip_protocol                  = "tcp"
  from_port                    = 443
  to_port                      = 443
  description                  = "AWS APIs from ${local.roles[each.key]}"
  tags                         = var.tags
}

resource "aws_vpc_security_group_ingress_rule" "people" {
  for_each = toset(var.allowed_cidrs)

  security_group_id = aws_security_group.this["ui"].id
  cidr_ipv4         = strcontains(each.value, ":") ? null : each.value
  cidr_ipv6         = strcontains(each.value, ":") ? each.value : null
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  description       = "Console from ${each.value}"
  tags              = var.tags
}

resource "aws_vpc_security_group_ingress_rule" "kafka_clients" {
  for_each = var.expose_kafka ? toset(var.allowed_cidrs) : toset([])

  security_group_id = aws_security_group.this["broker"].id
  cidr_ipv4         = strcontains(each.value, ":") ? null : each.value
  cidr_ipv6         = strcontains(each.value, ":") ? each.value : null
  ip_protocol       = "tcp"
  from_port         = 9092
  to_port           = 9092
  description       = "Kafka clients from ${each.value}"
  tags              = var.tags
}

resource "aws_vpc_security_group_egress_rule" "open" {
  for_each = toset(local.open_egress)

  security_group_id = aws_security_group.this[each.key].id
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  description       = "Out: images, AWS APIs, the other parts of the platform"
  tags              = var.tags
}

resource "aws_vpc_security_group_egress_rule" "databases" {
  for_each = local.databases

  security_group_id = aws_security_group.this[each.value.role].id
  cidr_ipv4         = each.value.cidr
  ip_protocol       = "tcp"
  from_port         = 0
  to_port           = 65535
  description       = "Databases in ${each.value.cidr}"
  tags              = var.tags
}

resource "aws_vpc_security_group_egress_rule" "https" {
  for_each = length(var.database_egress) > 0 ? toset(["worker", "connect"]) : toset([])

  security_group_id = aws_security_group.this[each.key].id
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  description       = "Images, AWS APIs, ClickHouse Cloud"
  tags              = var.tags
}

resource "aws_vpc_security_group_egress_rule" "platform" {
  for_each = length(var.database_egress) > 0 ? { for key, path in local.paths : key => path if contains(["worker", "connect"], path.from) } : {}

  security_group_id            = aws_security_group.this[each.value.from].id
  referenced_security_group_id = aws_security_group.this[each.value.to].id
  ip_protocol                  = "tcp"
  from_port                    = each.value.port
  to_port                      = each.value.port
  description                  = "${each.value.what} at ${local.roles[each.value.to]}"
  tags                         = var.tags
}
