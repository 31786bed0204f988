# The values come in by an ephemeral variable and go out by write-only arguments: neither plan nor state holds them.
resource "aws_secretsmanager_secret" "this" {
  for_each = toset(var.components)

  # A deleted secret keeps its name for days: a prefix lets the platform be made again at once.
  name_prefix             = "lattice/${var.name}/${each.key}-"
  description             = "Lattice ${var.name}: certificates and passwords of ${each.key}"
  kms_key_id              = var.kms_key_arn
  recovery_window_in_days = var.recovery_days
  tags                    = merge(var.tags, { "lattice:component" = each.key })
}

resource "aws_secretsmanager_secret_version" "this" {
  for_each = aws_secretsmanager_secret.this

  secret_id                = each.value.id
  secret_string_wo         = jsonencode(var.secrets[each.key])
  secret_string_wo_version = var.secrets_version
}
