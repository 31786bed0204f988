variable "efs_id" {
  description = "A kept file system; null makes one."
  type        = string
}

variable "name" {
  description = "Name of the platform."
  type        = string
}

variable "kms_key_arn" {
  description = "KMS key; null for AWS's own."
  type        = string
}

variable "throughput_mibps" {
  description = "Provisioned throughput; null: bursting."
  type        = number
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
}

variable "subnet_by_zone" {
  description = "One subnet in each zone."
  type        = map(string)
}

variable "group_id" {
  description = "Security group."
  type        = string
}

variable "nodes" {
  description = "Nodes that get a folder."
  type        = list(string)
}

variable "backup" {
  description = "Daily backups."
  type        = bool
}
