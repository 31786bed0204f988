output "url" {
  description = "The registry inside the VPC."
  value       = "http://registry.${var.namespace}:8080"
}

output "container_definitions" {
  description = "The task's containers."
  value       = module.service.container_definitions
}
