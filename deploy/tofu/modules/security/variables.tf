variable "combined_nodes" {
  description = "The broker is the controller as well."
  type        = bool
}

variable "database_egress" {
  description = "Ranges of databases; empty: anywhere."
  type        = list(string)
}

variable "name" {
  description = "Name of the platform."
  type        = string
}

variable "vpc_id" {
  description = "The VPC."
  type        = string
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
}

variable "allowed_cidrs" {
  description = "Ranges that may reach the console."
  type        = list(string)
}

variable "expose_kafka" {
  description = "Let the ranges reach the brokers too."
  type        = bool
}
