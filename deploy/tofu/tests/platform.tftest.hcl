# What is safe by default, and the parts around Kafka.

mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = {
      account_id = "111122223333"
    }
  }
}

override_data {
  target = module.network.data.aws_subnet.this["subnet-a"]
  values = { vpc_id = "vpc-1", availability_zone = "eu-west-1a", availability_zone_id = "euw1-az1" }
}

override_data {
  target = module.network.data.aws_subnet.this["subnet-b"]
  values = { vpc_id = "vpc-1", availability_zone = "eu-west-1b", availability_zone_id = "euw1-az2" }
}

variables {
  name       = "shop"
  region     = "eu-west-1"
  account_id = "111122223333"
  vpc_id     = "vpc-1"
  subnet_ids = ["subnet-a", "subnet-b"]
  cluster_id = "abcdefghijklmnopqrstuv"
  images     = { lattice = "ghcr.io/lattice-cdc/lattice:0.1.0" }
  secrets    = { kafka = {}, client = {}, registry = {}, connect = {}, ui = {} }
}

run "nothing_is_let_in_by_default" {
  command = plan

  assert {
    condition     = alltrue([for rule in values(module.security.ingress) : rule.cidr_ipv4 == null && rule.cidr_ipv6 == null])
    error_message = "only the platform's own groups"
  }

  assert {
    condition     = module.security.ingress["broker_client_worker"].from_port == 9092 && !contains(keys(module.security.ingress), "combined_quorum")
    error_message = "clients reach the brokers"
  }

  assert {
    condition     = output.ui_url == "https://lattice-ui.lattice.local" && output.registry_url == "http://registry.lattice.local:8080" && output.worker_url == "http://lattice.lattice.local:8083"
    error_message = "the names that were promised"
  }

  assert {
    condition     = output.connect_url == null
    error_message = "Kafka Connect runs when asked for"
  }
}

run "containers_are_locked_down_and_hold_no_secret" {
  assert {
    condition = alltrue(flatten([
      for text in concat(values(module.kafka[0].container_definitions), [module.registry.container_definitions, module.worker.container_definitions, module.ui.container_definitions]) : [
        for container in jsondecode(text) : [
          for entry in container.environment : !can(regex("PASSWORD|SECRET|JAAS|KEYSTORE_KEY|_KEY$", entry.name))
        ]
      ]
    ]))
    error_message = "secrets come in by reference"
  }

  assert {
    condition = alltrue(flatten([
      for text in [module.registry.container_definitions, module.worker.container_definitions, module.ui.container_definitions] : [
        for container in jsondecode(text) : [for secret in container.secrets : can(regex(":[a-z]+::$", secret.valueFrom))]
      ]
    ]))
    error_message = "each by the member of its secret"
  }

  assert {
    condition     = alltrue(flatten([for text in [module.worker.container_definitions, module.ui.container_definitions] : [for container in jsondecode(text) : container.readonlyRootFilesystem && container.linuxParameters.capabilities.drop == ["ALL"]]]))
    error_message = "read-only, without capabilities"
  }

  assert {
    condition     = alltrue([for statement in module.iam.statements["worker"] : statement.Resource != "*"])
    error_message = "a worker reads connectors' secrets and nothing else"
  }

  assert {
    condition     = !contains(keys(module.iam.statements), "plain")
    error_message = "registry and console have no rights"
  }
}

run "the_world_is_refused" {
  command = plan

  variables {
    allowed_cidrs = ["0.0.0.0/0"]
  }

  expect_failures = [var.allowed_cidrs]
}

run "a_range_is_let_to_the_console" {
  command = plan

  variables {
    allowed_cidrs = ["10.0.0.0/16"]
  }

  assert {
    condition     = module.security.people == { "10.0.0.0/16" = 443 } && module.security.kafka_clients == {}
    error_message = "the console, not the brokers"
  }
}

run "kafka_connect_beside_it" {
  command = plan

  variables {
    enable_kafka_connect = true
  }

  assert {
    condition     = output.connect_url == "http://connect.lattice.local:8083" && contains(keys(output.secret_arns), "connect")
    error_message = "Kafka Connect with its own secret"
  }
}

run "a_kafka_of_the_users" {
  variables {
    kafka_mode = "existing"
    kafka_existing = {
      bootstrap_servers = "b-1.msk.example:9096"
      secret_arn        = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:AmazonMSK_lattice-AbCdEf"
    }
    enable_kafka_connect = true
  }

  assert {
    condition     = length(module.kafka) == 0 && length(module.storage) == 0 && output.efs_id == null
    error_message = "no Kafka of ours"
  }

  assert {
    condition     = output.bootstrap_servers == "b-1.msk.example:9096" && keys(output.secret_arns) == ["ui"]
    error_message = "clients use the given cluster"
  }

  assert {
    condition     = { for entry in jsondecode(module.worker.container_definitions)[0].environment : entry.name => entry.value }["LATTICE_KAFKA_SASL_MECHANISM"] == "SCRAM-SHA-512"
    error_message = "with its mechanism"
  }
}

run "an_existing_kafka_must_be_named" {
  command = plan

  variables {
    kafka_mode = "existing"
    kafka_existing = {
      bootstrap_servers = "b-1.msk.example:9096"
    }
  }

  expect_failures = [var.kafka_existing]
}

run "a_name_that_is_too_long" {
  command = plan

  variables {
    name = "a-name-that-is-longer-than-names-may-be"
  }

  expect_failures = [var.name]
}

run "production" {
  variables {
    profile                  = "production"
    permissions_boundary_arn = "arn:aws:iam::111122223333:policy/boundary"
    create_vpc_endpoints     = true
    route_table_ids          = ["rtb-1"]
    database_egress          = ["10.1.0.0/16"]
  }

  assert {
    condition     = module.kafka[0].environment["broker-1"]["KAFKA_ALLOW_EVERYONE_IF_NO_ACL_FOUND"] == "false"
    error_message = "without an ACL nobody else reads"
  }

  assert {
    condition     = length(jsondecode(module.worker.container_definitions)) == 1 && module.kafka[0].environment["broker-1"]["KAFKA_HEAP_OPTS"] == "-Xms4096m -Xmx4096m"
    error_message = "sizes of the profile"
  }
}
