variable "kafka" {
  description = "How to reach Kafka; the secret has username, password, jaas and ca."
  type        = object({ bootstrap_servers = string, security_protocol = string, sasl_mechanism = string, secret_arn = string, private_ca = bool })
}

variable "name" {
  description = "Name of the platform."
  type        = string
}

variable "namespace" {
  description = "Private DNS name of the platform."
  type        = string
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
}

variable "namespace_id" {
  description = "Cloud Map namespace."
  type        = string
}

variable "size" {
  description = "CPU units and MiB."
  type        = object({ cpu = number, memory = number })
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

variable "image" {
  description = "Container image."
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

variable "replicas" {
  description = "Tasks."
  type        = number
}

variable "enable_execute_command" {
  description = "ECS Exec."
  type        = bool
}

variable "spot" {
  description = "Spot capacity."
  type        = bool
}

variable "subnet_ids" {
  description = "Subnets of the tasks."
  type        = list(string)
}

variable "group_id" {
  description = "Security group."
  type        = string
}

variable "assign_public_ip" {
  description = "Public addresses, to pull images."
  type        = bool
}

variable "role_policies" {
  description = "Policies to wait for."
  type        = list(string)
}
