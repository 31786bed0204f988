output "url" {
  description = "The workers' REST API inside the VPC."
  value       = "http://lattice.${var.namespace}:8083"
}

output "container_definitions" {
  description = "The task's containers."
  value       = aws_ecs_task_definition.this.container_definitions
}
