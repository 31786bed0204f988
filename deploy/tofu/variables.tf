variable "name" {
  description = "Name of the platform: ECS cluster, prefix of roles, secrets and log groups, value of the tag lattice:cluster."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,23}$", var.name))
    error_message = "name: 2 to 24 lower-case letters, digits and hyphens, beginning with a letter (load balancers, roles and DNS labels are named after it)."
  }
}

variable "region" {
  description = "AWS region."
  type        = string
}

variable "account_id" {
  description = "AWS account. The provider's credentials must belong to it: nothing is made in another account by mistake."
  type        = string

  validation {
    condition     = can(regex("^[0-9]{12}$", var.account_id))
    error_message = "account_id: twelve digits."
  }
}

variable "vpc_id" {
  description = "The VPC that the platform is put into. It needs DNS support and DNS host names."
  type        = string
}

variable "subnet_ids" {
  description = "Subnets for the tasks. Kafka's nodes are spread over their availability zones."
  type        = list(string)

  validation {
    condition     = length(var.subnet_ids) > 0 && length(distinct(var.subnet_ids)) == length(var.subnet_ids)
    error_message = "subnet_ids: at least one subnet, none twice."
  }
}

variable "namespace" {
  description = "Private DNS name of the platform in the VPC. One platform in a VPC can have it."
  type        = string
  default     = "lattice.local"

  validation {
    condition     = can(regex("^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,63}$", var.namespace))
    error_message = "namespace: a domain name such as lattice.local."
  }
}

variable "profile" {
  description = "Sizes: dev (one node, one zone, data may be lost), small, production. Single values below override it."
  type        = string
  default     = "small"

  validation {
    condition     = contains(["dev", "small", "production"], var.profile)
    error_message = "profile: dev, small or production."
  }
}

variable "architecture" {
  description = "Processor of the tasks: X86_64 or ARM64."
  type        = string
  default     = "X86_64"

  validation {
    condition     = contains(["X86_64", "ARM64"], var.architecture)
    error_message = "architecture: X86_64 or ARM64."
  }
}

variable "assign_public_ip" {
  description = "Give tasks a public address. Only needed in public subnets, to pull images; nothing is let in either way."
  type        = bool
  default     = false
}

variable "create_vpc_endpoints" {
  description = "Make interface endpoints (ecr.api, ecr.dkr, logs, secretsmanager) and the S3 gateway, for subnets without a way out."
  type        = bool
  default     = false
}

variable "route_table_ids" {
  description = "Route tables of the subnets, for the S3 gateway endpoint."
  type        = list(string)
  default     = []
}

variable "allowed_cidrs" {
  description = "Address ranges that may reach the console (443) and, with expose_kafka, the brokers (9092)."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for cidr in var.allowed_cidrs : can(cidrhost(cidr, 0))])
    error_message = "allowed_cidrs: address ranges such as 10.0.0.0/16."
  }

  validation {
    condition     = var.allow_public || !anytrue([for cidr in var.allowed_cidrs : endswith(cidr, "/0")])
    error_message = "allowed_cidrs: 0.0.0.0/0 and ::/0 open the platform to everybody; name the ranges that need it, or set allow_public = true."
  }
}

variable "allow_public" {
  description = "Permit 0.0.0.0/0 and ::/0 in allowed_cidrs."
  type        = bool
  default     = false
}

variable "expose_kafka" {
  description = "Let allowed_cidrs reach the brokers' client listener too (TLS and password)."
  type        = bool
  default     = false
}

variable "database_egress" {
  description = "Where workers may connect to besides HTTPS: address ranges of source and target databases. Empty: anywhere."
  type        = list(string)
  default     = []
}

variable "kafka_mode" {
  description = "new: Kafka on Fargate; existing: a cluster of yours (kafka_existing), Amazon MSK with SASL/SCRAM included."
  type        = string
  default     = "new"

  validation {
    condition     = contains(["new", "existing"], var.kafka_mode)
    error_message = "kafka_mode: new or existing. An MSK cluster is given as existing."
  }
}

variable "kafka_existing" {
  description = "With kafka_mode = existing: brokers, protocol, SASL mechanism, and a secret with the JSON keys username, password and (for a private authority) ca."
  type = object({
    bootstrap_servers = string
    security_protocol = optional(string, "SASL_SSL")
    sasl_mechanism    = optional(string, "SCRAM-SHA-512")
    secret_arn        = optional(string)
    private_ca        = optional(bool, false)
    replication       = optional(number, 3)
  })
  default = null

  validation {
    condition     = var.kafka_existing == null ? true : contains(["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"], var.kafka_existing.security_protocol)
    error_message = "kafka_existing.security_protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."
  }

  validation {
    condition     = var.kafka_existing == null ? true : contains(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"], var.kafka_existing.sasl_mechanism)
    error_message = "kafka_existing.sasl_mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. IAM authentication of MSK is not supported."
  }

  validation {
    condition     = var.kafka_existing == null ? true : (!startswith(var.kafka_existing.security_protocol, "SASL") || var.kafka_existing.secret_arn != null)
    error_message = "kafka_existing.secret_arn: SASL needs a secret with username and password."
  }
}

variable "cluster_id" {
  description = "Kafka's cluster id: 22 characters of URL-safe base64. Made once, never changed; the image's own default is the same for everybody."
  type        = string
  default     = null

  validation {
    condition     = var.cluster_id == null ? true : can(regex("^[A-Za-z0-9_][A-Za-z0-9_-]{21}$", var.cluster_id))
    error_message = "cluster_id: 22 characters of URL-safe base64, not beginning with a hyphen."
  }
}

variable "controllers" {
  description = "Kafka controllers: 1, 3 or 5; 0 with one broker that is controller as well. Fixed at creation. Null: the profile's."
  type        = number
  default     = null

  validation {
    condition     = var.controllers == null ? true : contains([0, 1, 3, 5], var.controllers)
    error_message = "controllers: 1, 3 or 5 (or 0 with a single broker)."
  }
}

variable "brokers" {
  description = "Kafka brokers. Null: the profile's."
  type        = number
  default     = null

  validation {
    condition     = var.brokers == null ? true : var.brokers >= 1 && var.brokers <= 30 && floor(var.brokers) == var.brokers
    error_message = "brokers: 1 to 30."
  }
}

variable "sizes" {
  description = "CPU units and MiB of memory by role (controller, broker, registry, worker, ui, connect), over the profile's."
  type        = map(object({ cpu = number, memory = number }))
  default     = {}

  validation {
    condition     = alltrue([for role in keys(var.sizes) : contains(["controller", "broker", "registry", "worker", "ui", "connect"], role)])
    error_message = "sizes: the roles are controller, broker, registry, worker, ui, connect."
  }

  validation {
    condition = alltrue([for size in values(var.sizes) : contains(lookup({
      "256"   = [512, 1024, 2048]
      "512"   = [for gb in range(1, 5) : gb * 1024]
      "1024"  = [for gb in range(2, 9) : gb * 1024]
      "2048"  = [for gb in range(4, 17) : gb * 1024]
      "4096"  = [for gb in range(8, 31) : gb * 1024]
      "8192"  = [for gb in range(16, 61, 4) : gb * 1024]
      "16384" = [for gb in range(32, 121, 8) : gb * 1024]
    }, tostring(size.cpu), []), size.memory)])
    error_message = "sizes: Fargate does not have this pair of cpu and memory. Pairs: 256 with 512, 1024, 2048; 512 with 1024-4096; 1024 with 2048-8192; 2048 with 4096-16384; 4096 with 8192-30720; 8192 with 16384-61440 in steps of 4096; 16384 with 32768-122880 in steps of 8192."
  }
}

variable "broker_storage" {
  description = "kind efs (survives everything) or ebs (fast, emptied whenever a broker is replaced; three brokers or more). size_gib, throughput_mibps and iops are EBS's; efs_mibps is EFS's provisioned throughput, null for bursting."
  type = object({
    kind             = optional(string, "efs")
    size_gib         = optional(number, 100)
    throughput_mibps = optional(number, 125)
    iops             = optional(number, 3000)
    efs_mibps        = optional(number)
  })
  default = {}

  validation {
    condition     = contains(["efs", "ebs"], var.broker_storage.kind)
    error_message = "broker_storage.kind: efs or ebs."
  }
}

variable "efs_id" {
  description = "A file system kept from an earlier platform of the same name and cluster_id, to go on with its data."
  type        = string
  default     = null
}

variable "workers" {
  description = "Lattice workers. Null: the profile's."
  type        = number
  default     = null
}

variable "uis" {
  description = "Tasks of the console. Null: the profile's."
  type        = number
  default     = null
}

variable "registries" {
  description = "Tasks of the schema registry. Null: the profile's."
  type        = number
  default     = null
}

variable "enable_kafka_connect" {
  description = "Run a Kafka Connect worker with Debezium's connectors beside Lattice."
  type        = bool
  default     = false
}

variable "images" {
  description = "Container images. Third-party ones are best given with their digest."
  type = object({
    lattice  = string
    kafka    = optional(string, "docker.io/apache/kafka:4.3.1")
    registry = optional(string, "docker.io/apicurio/apicurio-registry:3.3.3")
    connect  = optional(string, "quay.io/debezium/connect:3.6")
  })
}

variable "log_retention_days" {
  description = "Days that container logs are kept. Null: the profile's."
  type        = number
  default     = null
}

variable "kafka_retention_hours" {
  description = "Hours that Kafka keeps records. Null: the profile's."
  type        = number
  default     = null
}

variable "kms_key_arn" {
  description = "KMS key for file system, volumes, secrets and logs. Null: AWS's own keys."
  type        = string
  default     = null
}

variable "permissions_boundary_arn" {
  description = "Permissions boundary for the roles, where an organisation demands one."
  type        = string
  default     = null
}

variable "enable_execute_command" {
  description = "ECS Exec into the workers and the console, for finding faults."
  type        = bool
  default     = false
}

variable "ui_certificate_secret_arn" {
  description = "A secret with the JSON keys certificate and key (PEM) for the console. Null: the platform's own authority signs one."
  type        = string
  default     = null
}

variable "secrets_version" {
  description = "Raised when secrets are made anew; only then are they written."
  type        = number
  default     = 1
}

variable "secrets" {
  description = "Certificates and passwords. Never in the state: write-only, and only read when secrets_version is raised."
  type = object({
    kafka    = map(string)
    client   = map(string)
    registry = map(string)
    connect  = map(string)
    ui       = map(string)
  })
  ephemeral = true
  sensitive = true
  default = {
    kafka    = {}
    client   = {}
    registry = {}
    connect  = {}
    ui       = {}
  }
}

variable "tags" {
  description = "More tags for every resource."
  type        = map(string)
  default     = {}
}
