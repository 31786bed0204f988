# Kafka on Fargate: one service a node, the quorum, copies, storage.

mock_provider "aws" {
  mock_data "aws_subnet" {
    defaults = {
      vpc_id = "vpc-1"
    }
  }

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
  target = module.network.data.aws_subnet.this["subnet-a2"]
  values = { vpc_id = "vpc-1", availability_zone = "eu-west-1a", availability_zone_id = "euw1-az1" }
}

override_data {
  target = module.network.data.aws_subnet.this["subnet-b"]
  values = { vpc_id = "vpc-1", availability_zone = "eu-west-1b", availability_zone_id = "euw1-az2" }
}

override_data {
  target = module.network.data.aws_subnet.this["subnet-c"]
  values = { vpc_id = "vpc-1", availability_zone = "eu-west-1c", availability_zone_id = "euw1-az3" }
}

variables {
  name       = "shop"
  region     = "eu-west-1"
  account_id = "111122223333"
  vpc_id     = "vpc-1"
  subnet_ids = ["subnet-a", "subnet-b", "subnet-c"]
  cluster_id = "abcdefghijklmnopqrstuv"
  images     = { lattice = "ghcr.io/lattice-cdc/lattice:0.1.0" }
  secrets    = { kafka = {}, client = {}, registry = {}, connect = {}, ui = {} }
}

run "three_of_each" {
  assert {
    condition     = module.kafka[0].environment["broker-1"]["KAFKA_CONTROLLER_QUORUM_VOTERS"] == "1@controller-1.lattice.local:9093,2@controller-2.lattice.local:9093,3@controller-3.lattice.local:9093"
    error_message = "the quorum's voters"
  }

  assert {
    condition     = [for name, env in module.kafka[0].environment : env["KAFKA_NODE_ID"]] == ["101", "102", "103", "1", "2", "3"]
    error_message = "ids: controllers from 1, brokers from 101"
  }

  assert {
    condition     = join(",", output.kafka_nodes) == "controller-1,controller-2,controller-3,broker-1,broker-2,broker-3"
    error_message = "controllers are changed before brokers"
  }

  assert {
    condition     = alltrue([for env in values(module.kafka[0].environment) : env["KAFKA_DEFAULT_REPLICATION_FACTOR"] == "3" && env["KAFKA_MIN_INSYNC_REPLICAS"] == "2"])
    error_message = "three copies, two in sync"
  }

  assert {
    condition     = length(module.storage[0].access_point_ids) == 6 && length(module.kafka[0].services) == 6
    error_message = "one folder and one service a node"
  }

  assert {
    condition     = alltrue([for name, limits in module.kafka[0].services : limits[0] == 0 && limits[1] == 100])
    error_message = "two tasks of one node never run at the same time"
  }

  assert {
    condition     = alltrue([for name, text in module.kafka[0].container_definitions : jsondecode(text)[0].stopTimeout == 120])
    error_message = "two minutes to stop"
  }

  assert {
    condition     = module.kafka[0].zones == { "controller-1" = "eu-west-1a", "controller-2" = "eu-west-1b", "controller-3" = "eu-west-1c", "broker-1" = "eu-west-1a", "broker-2" = "eu-west-1b", "broker-3" = "eu-west-1c" }
    error_message = "nodes are spread over the zones"
  }

  assert {
    condition     = module.kafka[0].environment["broker-2"]["KAFKA_BROKER_RACK"] == "euw1-az2"
    error_message = "a broker knows its zone"
  }

  assert {
    condition     = module.kafka[0].environment["broker-1"]["KAFKA_ADVERTISED_LISTENERS"] == "INTERNAL://broker-1.lattice.local:9094,CLIENT://broker-1.lattice.local:9092" && !contains(keys(module.kafka[0].environment["controller-1"]), "KAFKA_ADVERTISED_LISTENERS")
    error_message = "brokers are reached by their names; a controller advertises nothing"
  }

  assert {
    condition     = alltrue([for name, env in module.kafka[0].environment : !anytrue([for value in values(env) : strcontains(value, "SSL://")])])
    error_message = "the image's script demands key files when it sees SSL://"
  }

  assert {
    condition     = module.kafka[0].environment["broker-1"]["CLUSTER_ID"] == var.cluster_id && module.kafka[0].environment["broker-1"]["KAFKA_HEAP_OPTS"] == "-Xms2048m -Xmx2048m"
    error_message = "cluster id, and half of the memory as heap"
  }

  assert {
    condition     = output.bootstrap_servers == "broker-1.lattice.local:9092,broker-2.lattice.local:9092,broker-3.lattice.local:9092"
    error_message = "all brokers"
  }
}

run "five_brokers_in_two_zones" {
  command = plan

  variables {
    brokers    = 5
    subnet_ids = ["subnet-a", "subnet-a2", "subnet-b"]
  }

  assert {
    condition     = module.kafka[0].environment["broker-5"]["KAFKA_DEFAULT_REPLICATION_FACTOR"] == "3" && module.kafka[0].environment["broker-5"]["KAFKA_MIN_INSYNC_REPLICAS"] == "2"
    error_message = "never more than three copies"
  }

  assert {
    condition     = module.network.subnet_by_zone == { "eu-west-1a" = "subnet-a", "eu-west-1b" = "subnet-b" }
    error_message = "one mount target a zone, whatever the number of subnets"
  }
}

run "a_single_node_for_trials" {
  command = plan

  variables {
    profile    = "dev"
    subnet_ids = ["subnet-a"]
  }

  assert {
    condition     = join(",", output.kafka_nodes) == "broker-1" && module.kafka[0].environment["broker-1"]["KAFKA_PROCESS_ROLES"] == "broker,controller"
    error_message = "one node that is both"
  }

  assert {
    condition     = module.kafka[0].environment["broker-1"]["KAFKA_CONTROLLER_QUORUM_VOTERS"] == "1@broker-1.lattice.local:9093" && module.kafka[0].environment["broker-1"]["KAFKA_LISTENERS"] == "CONTROLLER://0.0.0.0:9093,INTERNAL://0.0.0.0:9094,CLIENT://0.0.0.0:9092"
    error_message = "it is its own quorum"
  }

  assert {
    condition     = module.kafka[0].environment["broker-1"]["KAFKA_DEFAULT_REPLICATION_FACTOR"] == "1" && module.kafka[0].environment["broker-1"]["KAFKA_MIN_INSYNC_REPLICAS"] == "1"
    error_message = "one copy"
  }
}

run "volumes_for_brokers" {
  command = plan

  variables {
    broker_storage = { kind = "ebs", size_gib = 200 }
  }

  assert {
    condition     = join(",", sort(keys(module.storage[0].access_point_ids))) == "controller-1,controller-2,controller-3"
    error_message = "controllers stay on the file system"
  }

  assert {
    condition     = contains(keys(module.iam.statements), "kafka") && length(module.storage) == 1
    error_message = "the file system is there for the controllers"
  }
}

run "volumes_need_three_brokers" {
  command = plan

  variables {
    brokers        = 2
    broker_storage = { kind = "ebs" }
  }

  expect_failures = [terraform_data.sense]
}

run "a_wrong_number_of_controllers" {
  command = plan

  variables {
    controllers = 2
  }

  expect_failures = [var.controllers]
}

run "no_controller_with_three_brokers" {
  command = plan

  variables {
    controllers = 0
  }

  expect_failures = [terraform_data.sense]
}

run "a_cluster_id_is_needed" {
  command = plan

  variables {
    cluster_id = null
  }

  expect_failures = [terraform_data.sense]
}

run "a_pair_that_fargate_does_not_have" {
  command = plan

  variables {
    sizes = { broker = { cpu = 1024, memory = 16384 } }
  }

  expect_failures = [var.sizes]
}

run "one_zone_is_for_trials_only" {
  command = plan

  variables {
    subnet_ids = ["subnet-a", "subnet-a2"]
  }

  expect_failures = [terraform_data.sense]
}

run "another_account" {
  command = plan

  variables {
    account_id = "999900001111"
  }

  expect_failures = [data.aws_caller_identity.current]
}
