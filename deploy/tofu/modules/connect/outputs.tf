output "url" {
  description = "Kafka Connect's REST API inside the VPC."
  value       = "http://connect.${var.namespace}:8083"
}

output "container_definitions" {
  description = "The task's containers."
  value       = module.service.container_definitions
}
