variable "name" {
  description = "Name of the platform."
  type        = string
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
}

variable "insights" {
  description = "Container Insights."
  type        = bool
}

variable "services" {
  description = "Services that log."
  type        = list(string)
}

variable "prefix" {
  description = "Beginning of log group names."
  type        = string
}

variable "retention_days" {
  description = "Days that logs are kept."
  type        = number
}

variable "kms_key_arn" {
  description = "KMS key; null for AWS's own."
  type        = string
}
