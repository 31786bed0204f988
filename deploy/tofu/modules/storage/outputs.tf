output "file_system_id" {
  description = "The file system."
  value       = local.file_system_id
}

output "file_system_arn" {
  description = "The file system's ARN."
  value       = local.file_system_arn
}

output "access_point_ids" {
  description = "Access points by Kafka node."
  value       = { for node, point in aws_efs_access_point.node : node => point.id }
}

output "access_point_arns" {
  description = "ARNs of the access points by Kafka node."
  value       = { for node, point in aws_efs_access_point.node : node => point.arn }
}

output "mount_targets" {
  description = "Mount targets by zone: tasks must not start before these are there."
  value       = { for zone, target in aws_efs_mount_target.this : zone => target.id }
}
