data "aws_vpc" "this" {
  id = var.vpc_id
}

data "aws_subnet" "this" {
  for_each = toset(var.subnet_ids)
  id       = each.value

  lifecycle {
    postcondition {
      condition     = self.vpc_id == var.vpc_id
      error_message = "Subnet ${each.value} is not in VPC ${var.vpc_id}."
    }
  }
}

locals {
  # A file system has one mount target a zone, so of several subnets in one zone the first given counts.
  by_zone        = { for id in var.subnet_ids : data.aws_subnet.this[id].availability_zone => id... }
  subnet_by_zone = { for zone, ids in local.by_zone : zone => ids[0] }
  zones          = sort(keys(local.subnet_by_zone))
  endpoint_zones = var.single_zone ? slice(local.zones, 0, 1) : local.zones
}

resource "aws_service_discovery_private_dns_namespace" "this" {
  name        = var.namespace
  description = "Names of the Lattice platform ${var.name}"
  vpc         = var.vpc_id
  tags        = var.tags
}

resource "aws_vpc_endpoint" "interface" {
  for_each = var.create_vpc_endpoints ? toset(["ecr.api", "ecr.dkr", "logs", "secretsmanager"]) : toset([])

  vpc_id              = var.vpc_id
  service_name        = "com.amazonaws.${var.region}.${each.value}"
  vpc_endpoint_type   = "Interface"
  subnet_ids          = [for zone in local.endpoint_zones : local.subnet_by_zone[zone]]
  security_group_ids  = [var.endpoint_group_id]
  private_dns_enabled = true
  tags                = merge(var.tags, { Name = "${var.name}-${each.value}" })
}

resource "aws_vpc_endpoint" "s3" {
  count = var.create_vpc_endpoints ? 1 : 0

  vpc_id            = var.vpc_id
  service_name      = "com.amazonaws.${var.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = var.route_table_ids
  tags              = merge(var.tags, { Name = "${var.name}-s3" })
}
