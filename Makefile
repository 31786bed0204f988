# Everything here works on a fresh clone: dev/setup.sh installs what is missing.
SHELL := /bin/bash
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin:/usr/sbin:/sbin

.PHONY: help demo test check bench

help:
	@echo 'make demo    PostgreSQL to ClickHouse before your eyes, in about a minute (DEMO=forever goes on,'
	@echo '             LOG=kafka: on a real Kafka broker and Apicurio)'
	@echo 'make test    everything that must hold: formats, lints, licences, all tests on real services, the console'
	@echo 'make check   the quick part of it'
	@echo 'make bench   figures beside their limits, measured on this machine'

demo:
	@dev/setup.sh $(if $(filter kafka,$(LOG)),,demo)
	@cargo x demo

test:
	@dev/setup.sh
	@cargo x test

check:
	@dev/setup.sh check
	@cargo x check

bench:
	@dev/setup.sh
	@cargo x services up
	@cargo x bench all
