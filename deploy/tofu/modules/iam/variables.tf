variable "account_id" {
  description = "AWS account."
  type        = string
}

variable "region" {
  description = "AWS region."
  type        = string
}

variable "own_kafka" {
  description = "Kafka runs here."
  type        = bool
}

variable "ebs" {
  description = "Brokers have EBS volumes."
  type        = bool
}

variable "enable_execute_command" {
  description = "ECS Exec."
  type        = bool
}

variable "kms_key_arn" {
  description = "KMS key; null for AWS's own."
  type        = string
}

variable "log_group_arns" {
  description = "Log groups that tasks write."
  type        = list(string)
}

variable "secret_arns" {
  description = "Secrets that tasks are started with."
  type        = map(string)
}

variable "name" {
  description = "Name of the platform."
  type        = string
}

variable "file_system_arn" {
  description = "Kafka's file system."
  type        = string
}

variable "access_point_arns" {
  description = "Kafka's folders."
  type        = list(string)
}

variable "path" {
  description = "Path of the roles."
  type        = string
}

variable "permissions_boundary_arn" {
  description = "Permissions boundary of the roles."
  type        = string
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
}
