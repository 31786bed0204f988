locals {
  trust = {
    for service in ["ecs-tasks", "ecs"] : service => jsonencode({
      Version = "2012-10-17"
      Statement = [{
        Effect    = "Allow"
        Action    = "sts:AssumeRole"
        Principal = { Service = "${service}.amazonaws.com" }
        Condition = {
          StringEquals = { "aws:SourceAccount" = var.account_id }
          ArnLike      = { "aws:SourceArn" = "arn:aws:ecs:${var.region}:${var.account_id}:*" }
        }
      }]
    })
  }

  roles = merge(
    {
      execution = { trust = "ecs-tasks", what = "starts tasks: pulls images, reads their secrets, writes their logs" }
      worker    = { trust = "ecs-tasks", what = "Lattice workers: reads connectors' secrets" }
      plain     = { trust = "ecs-tasks", what = "registry and console: no rights" }
    },
    var.own_kafka ? { kafka = { trust = "ecs-tasks", what = "Kafka nodes: mount their own folder" } } : {},
    var.ebs ? { volume = { trust = "ecs", what = "makes and removes the brokers' volumes" } } : {},
  )

  exec = var.enable_execute_command ? [{
    Sid      = "Exec"
    Effect   = "Allow"
    Action   = ["ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel"]
    Resource = "*"
  }] : []

  decrypt = var.kms_key_arn == null ? [] : [{
    Sid      = "Decrypt"
    Effect   = "Allow"
    Action   = ["kms:Decrypt"]
    Resource = var.kms_key_arn
  }]

  statements = merge(
    {
      execution = concat([
        { Sid = "Logs", Effect = "Allow", Action = ["logs:CreateLogStream", "logs:PutLogEvents"], Resource = [for arn in var.log_group_arns : "${arn}:*"] },
        { Sid = "Token", Effect = "Allow", Action = ["ecr:GetAuthorizationToken"], Resource = "*" },
        {
          Sid      = "Images"
          Effect   = "Allow"
          Action   = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
          Resource = "arn:aws:ecr:*:*:repository/*"
        },
        { Sid = "Secrets", Effect = "Allow", Action = ["secretsmanager:GetSecretValue"], Resource = values(var.secret_arns) },
      ], local.decrypt)
      worker = concat([{
        Sid      = "ConnectorSecrets"
        Effect   = "Allow"
        Action   = ["secretsmanager:GetSecretValue"]
        Resource = "arn:aws:secretsmanager:${var.region}:${var.account_id}:secret:lattice/${var.name}/connectors/*"
      }], local.decrypt, local.exec)
    },
    var.enable_execute_command ? { plain = local.exec } : {},
    var.own_kafka ? {
      kafka = [{
        Sid       = "OwnFolders"
        Effect    = "Allow"
        Action    = ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"]
        Resource  = var.file_system_arn
        Condition = { ArnEquals = { "elasticfilesystem:AccessPointArn" = var.access_point_arns } }
      }]
    } : {},
  )
}

resource "aws_iam_role" "this" {
  for_each = local.roles

  name_prefix          = "${var.name}-${each.key}-"
  path                 = var.path
  description          = "Lattice ${var.name}: ${each.value.what}"
  assume_role_policy   = local.trust[each.value.trust]
  permissions_boundary = var.permissions_boundary_arn
  tags                 = var.tags
}

resource "aws_iam_role_policy" "this" {
  for_each = local.statements

  name   = each.key
  role   = aws_iam_role.this[each.key].name
  policy = jsonencode({ Version = "2012-10-17", Statement = each.value })
}

resource "aws_iam_role_policy_attachment" "volume" {
  count = var.ebs ? 1 : 0

  role       = aws_iam_role.this["volume"].name
  policy_arn = "arn:aws:iam::aws:policy/service-role/AmazonECSInfrastructureRolePolicyForVolumes"
}
