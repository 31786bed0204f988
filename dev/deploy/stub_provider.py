#!/usr/bin/env python3
"""A stand-in for the AWS provider: it knows the shape of its resources and nothing else.

Started by OpenTofu or Terraform as a plugin (protocol 5, without TLS: TF_DISABLE_PLUGIN_TLS=1). It answers with
the schemas of the file that LATTICE_PROVIDER_SCHEMA names and finds every configuration valid, so `validate` and
`test` with `mock_provider` work without AWS and without the real plugin of several hundred megabytes.
"""

import json
import os
import signal
import sys
from concurrent import futures

import grpc


# ---------------------------------------------------------------- protobuf, as much as is needed

def varint(value):
    out = bytearray()
    while True:
        low, value = value & 0x7F, value >> 7
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def number(field, value):
    return b"" if not value else varint(field << 3) + varint(value)


def data(field, value):
    if isinstance(value, str):
        value = value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


def fields(message):
    """The length-delimited fields of a message."""
    at, found = 0, {}

    def read():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = read()
        if key & 7 == 2:
            length = read()
            found[key >> 3] = message[at:at + length]
            at += length
        else:
            found[key >> 3] = read()
    return found


# ---------------------------------------------------------------- schemas

LIST = 2


def attribute(name, spec):
    required = spec["required"]
    computed = spec.get("computed", False) and not required
    optional = spec.get("optional", not required and (not computed or name in ("id", "region", "tags_all")))
    return (data(1, name) + data(2, json.dumps(spec["type"])) + number(4, required) + number(5, optional)
            + number(6, computed) + number(10, spec.get("write_only", False)))


def nested(name, spec):
    return (data(1, name) + data(2, block(spec["block"])) + number(3, LIST)
            + number(4, 1 if spec["required"] else 0) + number(5, 0 if spec["repeated"] else 1))


def block(spec):
    out = number(1, 0)
    for name, one in sorted(spec["attributes"].items()):
        out += data(2, attribute(name, one))
    for name, one in sorted(spec["blocks"].items()):
        out += data(3, nested(name, one))
    return out


def schema(spec):
    return data(2, block(spec))


PROVIDER = {
    "attributes": {name: {"type": kind, "required": False} for name, kind in {
        "region": "string", "access_key": "string", "secret_key": "string", "profile": "string",
        "allowed_account_ids": ["list", "string"], "skip_credentials_validation": "bool",
        "skip_metadata_api_check": "string", "skip_requesting_account_id": "bool"}.items()},
    "blocks": {"default_tags": {"required": False, "repeated": True, "block": {
        "attributes": {"tags": {"type": ["map", "string"], "required": False}}, "blocks": {}}}},
}


def entries(field, table):
    return b"".join(data(field, data(1, name) + data(2, schema(spec))) for name, spec in sorted(table.items()))


def looked_up(table):
    """Data sources: what is not asked for is answered."""
    for spec in table.values():
        for name, one in spec["attributes"].items():
            if not one["required"]:
                one["computed"] = one["optional"] = True
    return table


def get_schema(_request):
    with open(os.environ["LATTICE_PROVIDER_SCHEMA"]) as file:
        known = json.load(file)
    capabilities = number(1, 1)
    return data(1, schema(PROVIDER)) + entries(2, known["resource"]) + entries(3, looked_up(known["data"])) + data(6, capabilities)


# ---------------------------------------------------------------- the service

def nothing(_request):
    return b""


def upgrade(request):
    state = fields(fields(request).get(3, b""))
    return data(1, data(2, state.get(1, b"null")))


METHODS = {
    "/tfplugin5.Provider/GetSchema": get_schema,
    "/tfplugin5.Provider/PrepareProviderConfig": lambda request: data(1, fields(request).get(1, b"")),
    "/tfplugin5.Provider/UpgradeResourceState": upgrade,
    "/tfplugin5.Provider/GetFunctions": nothing,
    "/tfplugin5.Provider/GetResourceIdentitySchemas": nothing,
    "/tfplugin5.Provider/Configure": nothing,
    "/tfplugin5.Provider/Stop": nothing,
    "/tfplugin5.Provider/ValidateResourceTypeConfig": nothing,
    "/tfplugin5.Provider/ValidateDataSourceConfig": nothing,
    "/tfplugin5.Provider/ValidateEphemeralResourceConfig": nothing,
    "/grpc.health.v1.Health/Check": lambda _request: number(1, 1),
    "/plugin.GRPCController/Shutdown": None,
}


class Service(grpc.GenericRpcHandler):
    def service(self, details):
        if details.method not in METHODS:
            return None
        answer = METHODS[details.method]

        def call(request, _context):
            if answer is None:
                os.kill(os.getpid(), signal.SIGTERM)
                return b""
            return answer(request)

        return grpc.unary_unary_rpc_method_handler(call)


def main():
    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[Service()],
                         options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"1|5|tcp|127.0.0.1:{port}|grpc", flush=True)
    # The engine ends plugins with a signal of its own; an interrupt meant for it must not end the plugin first.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server.wait_for_termination()


if __name__ == "__main__":
    sys.exit(main())
