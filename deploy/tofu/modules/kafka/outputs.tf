output "bootstrap_servers" {
  description = "All brokers, for clients."
  value       = local.bootstrap_servers
}

output "node_names" {
  description = "Nodes in the order in which they are changed."
  value       = concat(sort(keys(local.controllers)), sort(keys(local.brokers)))
}

output "durable_nodes" {
  description = "Nodes whose data lies on the file system."
  value       = keys(local.durable)
}

output "environment" {
  description = "Environment of each node, without secrets."
  value       = local.environment
}

output "zones" {
  description = "Zone of each node."
  value       = { for name, node in local.nodes : name => node.zone }
}

output "container_definitions" {
  description = "Containers of each node."
  value       = { for name, task in aws_ecs_task_definition.node : name => task.container_definitions }
}

output "services" {
  description = "Deployment limits of each node's service, minimum and maximum in percent."
  value       = { for name, service in aws_ecs_service.node : name => [service.deployment_minimum_healthy_percent, service.deployment_maximum_percent] }
}
