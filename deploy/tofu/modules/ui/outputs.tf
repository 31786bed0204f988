output "container_definitions" {
  description = "The task's containers."
  value       = module.service.container_definitions
}
