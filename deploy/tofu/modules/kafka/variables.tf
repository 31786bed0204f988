variable "controllers" {
  description = "Controllers; 0: the broker is one."
  type        = number
}

variable "zones" {
  description = "Zones, sorted."
  type        = list(string)
}

variable "brokers" {
  description = "Brokers."
  type        = number
}

variable "namespace" {
  description = "Private DNS name of the platform."
  type        = string
}

variable "storage" {
  description = "Storage of brokers."
  type        = object({ kind = string, size_gib = number, throughput_mibps = number, iops = number, efs_mibps = optional(number) })
}

variable "sizes" {
  description = "CPU units and MiB by role."
  type        = map(object({ cpu = number, memory = number }))
}

variable "cluster_id" {
  description = "Kafka's cluster id."
  type        = string
}

variable "open_without_acl" {
  description = "Topics without an ACL are open to every user."
  type        = bool
}

variable "replication" {
  description = "Copies of each topic."
  type        = number
}

variable "min_in_sync" {
  description = "Copies that must be in sync."
  type        = number
}

variable "retention_hours" {
  description = "Hours that records are kept."
  type        = number
}

variable "zone_ids" {
  description = "Id of each zone."
  type        = map(string)
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
}

variable "namespace_id" {
  description = "Cloud Map namespace."
  type        = string
}

variable "name" {
  description = "Name of the platform."
  type        = string
}

variable "execution_role" {
  description = "Role that starts tasks."
  type        = string
}

variable "task_role" {
  description = "Role of the containers."
  type        = string
}

variable "secrets_version" {
  description = "Raised when secrets are made anew."
  type        = number
}

variable "architecture" {
  description = "Processor."
  type        = string
}

variable "access_point_ids" {
  description = "Folder of each node."
  type        = map(string)
}

variable "file_system_id" {
  description = "File system."
  type        = string
}

variable "image" {
  description = "Container image."
  type        = string
}

variable "secret_arn" {
  description = "The secret."
  type        = string
}

variable "log_group" {
  description = "Log group."
  type        = string
}

variable "region" {
  description = "AWS region."
  type        = string
}

variable "cluster_arn" {
  description = "The ECS cluster."
  type        = string
}

variable "subnet_by_zone" {
  description = "One subnet in each zone."
  type        = map(string)
}

variable "group_ids" {
  description = "Security groups by role."
  type        = map(string)
}

variable "assign_public_ip" {
  description = "Public addresses, to pull images."
  type        = bool
}

variable "volume_role" {
  description = "Role by which ECS makes volumes."
  type        = string
}

variable "kms_key_arn" {
  description = "KMS key; null for AWS's own."
  type        = string
}

variable "role_policies" {
  description = "Policies to wait for."
  type        = list(string)
}

variable "mount_targets" {
  description = "Mount targets to wait for."
  type        = map(string)
}
