output "cluster_arn" {
  description = "The ECS cluster. Known when its capacity providers are there."
  value       = aws_ecs_cluster.this.arn
  depends_on  = [aws_ecs_cluster_capacity_providers.this]
}

output "log_groups" {
  description = "Names of the log groups by service."
  value       = { for service, group in aws_cloudwatch_log_group.this : service => group.name }
}

output "log_group_arns" {
  description = "ARNs of the log groups by service."
  value       = { for service, group in aws_cloudwatch_log_group.this : service => group.arn }
}
