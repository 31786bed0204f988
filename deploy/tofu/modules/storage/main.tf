resource "aws_efs_file_system" "this" {
  count = var.efs_id == null ? 1 : 0

  creation_token   = "lattice-${var.name}"
  encrypted        = true
  kms_key_id       = var.kms_key_arn
  performance_mode = "generalPurpose"
  # Never elastic: it bills every written byte, about 460 dollars a month for each MiB/s at three copies.
  throughput_mode                 = var.throughput_mibps == null ? "bursting" : "provisioned"
  provisioned_throughput_in_mibps = var.throughput_mibps
  tags                            = merge(var.tags, { Name = "${var.name}-kafka" })
}

locals {
  file_system_id  = var.efs_id == null ? aws_efs_file_system.this[0].id : var.efs_id
  file_system_arn = var.efs_id == null ? aws_efs_file_system.this[0].arn : data.aws_efs_file_system.kept[0].arn
}

data "aws_efs_file_system" "kept" {
  count          = var.efs_id == null ? 0 : 1
  file_system_id = var.efs_id
}

resource "aws_efs_mount_target" "this" {
  for_each = var.subnet_by_zone

  file_system_id  = local.file_system_id
  subnet_id       = each.value
  security_groups = [var.group_id]
}

resource "aws_efs_access_point" "node" {
  for_each = toset(var.nodes)

  file_system_id = local.file_system_id
  tags           = merge(var.tags, { Name = "${var.name}-${each.key}" })

  # The user of the Kafka image.
  posix_user {
    uid = 1000
    gid = 1000
  }

  root_directory {
    path = "/kafka/${each.key}"

    creation_info {
      owner_uid   = 1000
      owner_gid   = 1000
      permissions = "0750"
    }
  }
}

resource "aws_efs_file_system_policy" "this" {
  file_system_id = local.file_system_id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "OnlyEncrypted"
      Effect    = "Deny"
      Principal = { AWS = "*" }
      Action    = "*"
      Resource  = "*"
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
      }, {
      Sid       = "OnlyByAccessPoints"
      Effect    = "Allow"
      Principal = { AWS = "*" }
      Action    = ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"]
      Resource  = "*"
      Condition = {
        Bool      = { "elasticfilesystem:AccessedViaMountTarget" = "true" }
        ArnEquals = { "elasticfilesystem:AccessPointArn" = sort([for point in aws_efs_access_point.node : point.arn]) }
      }
    }]
  })
}

resource "aws_efs_backup_policy" "this" {
  file_system_id = local.file_system_id

  # A copy of running logs is no consistent cluster; it is the last resort only.
  backup_policy {
    status = var.backup ? "ENABLED" : "DISABLED"
  }
}
