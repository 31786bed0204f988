variable "vpc_id" {
  description = "The VPC."
  type        = string
}

variable "subnet_ids" {
  description = "Subnets of the tasks."
  type        = list(string)
}

variable "single_zone" {
  description = "Endpoints in one zone only."
  type        = bool
}

variable "namespace" {
  description = "Private DNS name of the platform."
  type        = string
}

variable "name" {
  description = "Name of the platform."
  type        = string
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
}

variable "create_vpc_endpoints" {
  description = "Make endpoints for subnets without a way out."
  type        = bool
}

variable "region" {
  description = "AWS region."
  type        = string
}

variable "endpoint_group_id" {
  description = "Security group of the endpoints."
  type        = string
}

variable "route_table_ids" {
  description = "Route tables for the S3 gateway."
  type        = list(string)
}
