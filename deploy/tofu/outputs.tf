output "ui_url" {
  description = "The console."
  value       = "https://lattice-ui.${var.namespace}"
}

output "bootstrap_servers" {
  description = "Kafka's brokers."
  value       = local.kafka_client.bootstrap_servers
}

output "registry_url" {
  description = "The schema registry."
  value       = module.registry.url
}

output "worker_url" {
  description = "The workers' REST API, Kafka Connect's."
  value       = module.worker.url
}

output "connect_url" {
  description = "Kafka Connect's REST API, where it runs."
  value       = one(module.connect[*].url)
}

output "cluster_arn" {
  description = "The ECS cluster."
  value       = module.observability.cluster_arn
}

output "log_groups" {
  description = "Log groups by service."
  value       = module.observability.log_groups
}

output "secret_arns" {
  description = "Secrets by component."
  value       = module.secrets.arns
}

output "security_group_ids" {
  description = "Security groups by role."
  value       = module.security.group_ids
}

output "efs_id" {
  description = "The file system with Kafka's data."
  value       = one(module.storage[*].file_system_id)
}

output "kafka_nodes" {
  description = "Kafka's nodes in the order in which they are changed: controllers, then brokers."
  value       = local.own_kafka ? module.kafka[0].node_names : []
}

output "secrets_version" {
  description = "The version of the secrets that was written."
  value       = var.secrets_version
}
