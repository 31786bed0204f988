output "url" {
  description = "The workers' REST API inside the VPC."
  value       = "http://lattice.${var.namespace}:8083"
}

output "container_definitions" {
  description = "The task's containers."
  value       = module.service.container_definitions
}
