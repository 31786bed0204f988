variable "family" {
  description = "Name of the task definitions."
  type        = string
}

variable "service" {
  description = "Name of the ECS service."
  type        = string
}

variable "dns_name" {
  description = "Name in the platform's namespace."
  type        = string
}

variable "namespace_id" {
  description = "Cloud Map namespace."
  type        = string
}

variable "container_definitions" {
  description = "The task's containers, as JSON."
  type        = string
}

variable "volumes" {
  description = "Volumes that live as long as a task."
  type        = list(string)
  default     = []
}

variable "size" {
  description = "CPU units and MiB."
  type        = object({ cpu = number, memory = number })
}

variable "architecture" {
  description = "Processor."
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

variable "cluster_arn" {
  description = "The ECS cluster."
  type        = string
}

variable "replicas" {
  description = "Tasks."
  type        = number
}

variable "spot" {
  description = "Spot capacity."
  type        = bool
  default     = false
}

variable "enable_execute_command" {
  description = "ECS Exec."
  type        = bool
  default     = false
}

variable "rollback" {
  description = "Go back to the version before when the new one does not start."
  type        = bool
  default     = false
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

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
}
