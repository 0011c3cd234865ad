# Writes the first part of a run again with pyarrow, without one row of requests.
# usage: rewrite.py IN OUT old|true: the end as it was, or with a true index.
import hashlib
import io
import struct
import sys

import pyarrow as pa

source, target, seal = sys.argv[1:]
with open(source, "rb") as f:
    requests, client, end = (pa.ipc.open_stream(f).read_all() for _ in range(3))
requests = pa.concat_tables([requests.slice(0, 1), requests.slice(2)])


def stream(table, codec):
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as w:
        w.write_table(table)
    return out.getvalue()


crc_table = []
for i in range(256):
    for _ in range(8):
        i = i >> 1 ^ 0x82F63B78 * (i & 1)
    crc_table.append(i)


def crc32c(data):
    c = 0xFFFFFFFF
    for b in data:
        c = c >> 8 ^ crc_table[(c ^ b) & 0xFF]
    return c ^ 0xFFFFFFFF


def messages(data):
    at = 0
    while at < len(data):
        start, (n,) = at, struct.unpack_from("<i", data, at + 4)
        at += 8
        if n == 0:
            continue
        body = pa.ipc.read_message(pa.py_buffer(data[start:])).body.size
        at += n + body
        yield start, at - start, crc32c(data[start:at])


sealed = stream(requests, "zstd") + stream(client, "zstd")
if seal == "true":
    offset, length, crc = zip(*messages(sealed))
    row = end.to_pylist()[0] | {
        "requests_rows": requests.num_rows,
        "sha256": hashlib.sha256(sealed).hexdigest(),
        "offset": offset,
        "length": length,
        "crc32c": crc,
    }
    end = pa.Table.from_pylist([row], schema=end.schema)
with open(target, "wb") as f:
    f.write(sealed + stream(end, None))
