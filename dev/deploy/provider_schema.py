#!/usr/bin/env python3
"""Writes what the AWS provider's resources look like, for checking deploy/tofu without AWS.

    npm pack @cdktf/provider-aws@21.22.1 && tar xzf cdktf-provider-aws-21.22.1.tgz package/.jsii
    dev/deploy/provider_schema.py package/.jsii

The published bindings of the provider tell each resource's arguments, which are required, which are
blocks, and what is computed. Only the types that deploy/tofu names are kept. Facts that the bindings do
not tell (list or set, enumerations) are not checked: dev/deploy/README.md.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "deploy/tofu/tests/provider/aws.json"
LINK = re.compile(r"docs/(resources|data-sources)/([a-z0-9_]+)#([a-z0-9_]+) ")
NOT_ARGUMENTS = {"connection", "count", "depends_on", "for_each", "lifecycle", "provider", "provisioners", "dependsOn", "forEach"}
GETTERS = {"cdktfStack", "fqn", "friendlyUniqueId", "terraformMetaArguments", "terraformResourceType", "terraformGeneratorMetadata",
           "constructNodeMetadata", "node", "rawOverrides", "tfResourceType", "dependsOn", "forEach", "count", "provider", "lifecycle",
           "connection", "provisioners"}


def wanted():
    """The (kind, type) of every resource and data source in deploy/tofu."""
    found = set()
    for file in (ROOT / "deploy/tofu").rglob("*.tf"):
        for kind, name in re.findall(r'^(resource|data) "(aws_[a-z0-9_]+)"', file.read_text(), re.M):
            found.add((kind, name))
    return found


def snake(name):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda m: "_" + m.group(1).lower(), name)


def primitive(kind):
    """A type in cty's JSON form, or nothing if it is a structure."""
    if "primitive" in kind:
        return {"string": "string", "number": "number", "boolean": "bool"}.get(kind["primitive"], "dynamic")
    if "union" in kind:
        for one in kind["union"]["types"]:
            found = primitive(one)
            if found and found != "dynamic":
                return found
        return None
    if "collection" in kind:
        inner = primitive(kind["collection"]["elementtype"]) or None
        if inner is None:
            return None
        return ["map" if kind["collection"]["kind"] == "map" else "list", inner]
    if kind.get("fqn", "").startswith("cdktf.StringMap"):
        return ["map", "string"]
    return None


def structure(kind):
    """The name of the structure behind a block, and whether it repeats."""
    if "fqn" in kind and kind["fqn"] != "cdktf.IResolvable":
        return kind["fqn"], False
    if "union" in kind:
        for one in kind["union"]["types"]:
            found = structure(one)
            if found:
                return found
    if "collection" in kind:
        inner = structure(kind["collection"]["elementtype"])
        if inner:
            return inner[0], True
    return None


def link(entry):
    docs = entry.get("docs", {})
    return LINK.search(docs.get("summary", "") + " " + docs.get("remarks", ""))


def block(types, fqn):
    attributes, blocks = {}, {}
    for entry in types[fqn].get("properties", []):
        found = link(entry)
        if not found or found.group(3) in NOT_ARGUMENTS:
            continue
        name = found.group(3)
        required = not entry.get("optional", False)
        plain = primitive(entry["type"])
        if plain:
            attributes[name] = {"type": plain, "required": required}
            if name.endswith("_wo"):
                attributes[name]["write_only"] = True
            if name in ("id", "region", "tags_all"):
                attributes[name]["computed"] = True
            continue
        inner = structure(entry["type"])
        if not inner:
            continue
        blocks[name] = {"block": block(types, inner[0]), "repeated": inner[1], "required": required}
    return {"attributes": attributes, "blocks": blocks}


def main():
    types = json.load(open(sys.argv[1]))["types"]
    result = {"provider": "registry.opentofu.org/hashicorp/aws", "version": "6.25.0", "resource": {}, "data": {}}
    missing = wanted()
    for fqn, entry in types.items():
        if not fqn.endswith("Config") or not entry.get("properties") or "interfaces" not in entry:
            continue
        found = next((m for m in map(link, entry["properties"]) if m), None)
        if not found:
            continue
        kind = "resource" if found.group(1) == "resources" else "data"
        name = "aws_" + found.group(2)
        if (kind, name) not in missing or "cdktf.TerraformMetaArguments" not in entry["interfaces"]:
            continue
        missing.discard((kind, name))
        shape = block(types, fqn)
        for getter in types.get(fqn.removesuffix("Config"), {}).get("properties", []):
            key = snake(getter["name"])
            if getter["name"] in GETTERS or getter.get("static") or getter["name"].endswith("Input"):
                continue
            if key in shape["attributes"] or key in shape["blocks"]:
                continue
            shape["attributes"][key] = {"type": primitive(getter["type"]) or "dynamic", "computed": True, "required": False}
        result[kind][name] = shape
    if missing:
        sys.exit(f"not in the bindings: {sorted(missing)}")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(result, sort_keys=True, separators=(",", ":")).replace('"aws_', '\n"aws_') + "\n")
    print(f"{OUT.relative_to(ROOT)}: {len(result['resource'])} resources, {len(result['data'])} data sources")


main()
