variable "components" {
  description = "Parts that have a secret."
  type        = list(string)
}

variable "name" {
  description = "Name of the platform."
  type        = string
}

variable "kms_key_arn" {
  description = "KMS key; null for AWS's own."
  type        = string
}

variable "recovery_days" {
  description = "Days in which a deleted secret can be brought back; 0: none."
  type        = number
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
}

variable "secrets" {
  description = "Values by component."
  type        = map(map(string))
  ephemeral   = true
  sensitive   = true
}

variable "secrets_version" {
  description = "Raised when secrets are made anew."
  type        = number
}
