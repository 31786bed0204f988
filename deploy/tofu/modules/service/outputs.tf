output "container_definitions" {
  description = "The task's containers."
  value       = aws_ecs_task_definition.this.container_definitions
}
