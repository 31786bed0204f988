output "arns" {
  description = "Secrets by component. Known when they have a value."
  value       = { for component, secret in aws_secretsmanager_secret.this : component => secret.arn }
  depends_on  = [aws_secretsmanager_secret_version.this]
}
