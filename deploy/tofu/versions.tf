terraform {
  required_version = ">= 1.11"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.25, < 7.0"
    }
  }
}

provider "aws" {
  region = var.region
  # Tags stand on each resource (var.tags of the modules), so that what is tagged can be tested.
}
