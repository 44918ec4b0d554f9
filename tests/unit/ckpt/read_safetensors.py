# SPDX-License-Identifier: Apache-2.0
"""Prints name, dtype, shape and SHA-256 of each tensor of a safetensors file, sorted by name."""
import hashlib
import json
import struct
import sys


def own_reader(blob):
    (size,) = struct.unpack("<Q", blob[:8])
    assert blob[8:9] == b"{" and size <= len(blob) - 8
    header = json.loads(blob[8 : 8 + size])
    header.pop("__metadata__", None)
    cursor = 0
    for name, info in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = info["data_offsets"]
        assert begin == cursor, name
        cursor = end
        yield name, {"dtype": info["dtype"], "shape": info["shape"], "data": blob[8 + size + begin : 8 + size + end]}
    assert 8 + size + cursor == len(blob)


with open(sys.argv[1], "rb") as file:
    content = file.read()
try:
    from safetensors import deserialize
except ImportError:
    deserialize = own_reader
for tensor_name, tensor in sorted(deserialize(content)):
    shape = ", ".join(str(d) for d in tensor["shape"])
    print(f"{tensor_name} {tensor['dtype']} [{shape}] {hashlib.sha256(bytes(tensor['data'])).hexdigest()}")
