output "group_ids" {
  description = "Security groups by role."
  value       = { for role, group in aws_security_group.this : role => group.id }
}

output "ingress" {
  description = "Rules between the platform's own groups."
  value       = aws_vpc_security_group_ingress_rule.path
}

output "people" {
  description = "Ports that address ranges may reach at the console."
  value       = { for range, rule in aws_vpc_security_group_ingress_rule.people : range => rule.to_port }
}

output "kafka_clients" {
  description = "Ports that address ranges may reach at the brokers."
  value       = { for range, rule in aws_vpc_security_group_ingress_rule.kafka_clients : range => rule.to_port }
}
