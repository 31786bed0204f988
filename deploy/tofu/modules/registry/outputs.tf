output "url" {
  description = "The registry inside the VPC."
  value       = "http://registry.${var.namespace}:8080"
}

output "container_definitions" {
  description = "The task's containers."
  value       = aws_ecs_task_definition.this.container_definitions
}
