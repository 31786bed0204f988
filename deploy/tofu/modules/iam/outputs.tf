output "execution_role_arn" {
  description = "The role that starts tasks."
  value       = aws_iam_role.this["execution"].arn
}

output "worker_task_role_arn" {
  description = "The role of workers."
  value       = aws_iam_role.this["worker"].arn
}

output "plain_task_role_arn" {
  description = "The role of registry and console."
  value       = aws_iam_role.this["plain"].arn
}

output "kafka_task_role_arn" {
  description = "The role of Kafka's nodes."
  value       = try(aws_iam_role.this["kafka"].arn, null)
}

output "volume_role_arn" {
  description = "The role by which ECS makes EBS volumes."
  value       = try(aws_iam_role.this["volume"].arn, null)
}

output "policies" {
  description = "Ids of all policies: services depend on these, so that they can end their tasks at teardown."
  value       = concat([for policy in aws_iam_role_policy.this : policy.id], aws_iam_role_policy_attachment.volume[*].id)
}

output "statements" {
  description = "The rights of each role."
  value       = local.statements
}
