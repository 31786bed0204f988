output "namespace_id" {
  description = "The Cloud Map namespace."
  value       = aws_service_discovery_private_dns_namespace.this.id
}

output "zones" {
  description = "Availability zones of the subnets, sorted."
  value       = local.zones
}

output "zone_ids" {
  description = "The account-independent id of each zone."
  value       = { for zone, id in local.subnet_by_zone : zone => data.aws_subnet.this[id].availability_zone_id }
}

output "subnet_by_zone" {
  description = "One subnet in each zone."
  value       = local.subnet_by_zone
}

output "subnet_ids" {
  description = "All subnets given."
  value       = var.subnet_ids
}

output "vpc_cidr" {
  description = "The VPC's main address range."
  value       = data.aws_vpc.this.cidr_block
}
