"""Writes request logs in the schema of Baseten's exports, one log in many files.

usage: baseten.py FOLDER ROWS.json. ROWS is an object: the columns of the log, each a list
of values. All files have the same rows, but shuffled where their name says so.
"""
import json
import random
import sys

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

folder, source = sys.argv[1:]
with open(source) as f:
    data = json.load(f)
types = {
    "timestamp_start_unix_ms": pa.int64(), "prompt": pa.string(), "input_tokens": pa.int64(), "output_tokens": pa.int64(), "total_hashes": pa.list_(pa.int64()),
    "block_size": pa.int64(), "provided_session_id": pa.string(), "poor_man_session_id": pa.int64(), "duration_e2e_ms": pa.float64(), "duration_ttft_ms": pa.float64(),
    "request_canceled": pa.int64(), "cached_tokens_reference": pa.int64(), "model_name": pa.string(), "org_id": pa.string(), "output_text": pa.string(),
}
small = {"input_tokens": pa.int32(), "output_tokens": pa.uint64(), "block_size": pa.int16(), "request_canceled": pa.bool_(), "timestamp_start_unix_ms": pa.uint64(),
         "prompt": pa.large_string(), "total_hashes": pa.large_list(pa.uint64()), "duration_ttft_ms": pa.int32(), "cached_tokens_reference": pa.uint32()}
coded = {"prompt": pa.dictionary(pa.int32(), pa.string()), "provided_session_id": pa.dictionary(pa.int8(), pa.string()), "model_name": pa.dictionary(pa.int32(), pa.large_string())}


def table(change={}, shuffle=None):
    n = len(data["prompt"])
    order = list(range(n))
    if shuffle is not None:
        random.Random(shuffle).shuffle(order)
    names = list(data)
    if shuffle is not None:
        random.Random(shuffle).shuffle(names)

    def column(name):
        typ = change.get(name, types.get(name, pa.string()))
        values = [data[name][i] for i in order]
        if pa.types.is_boolean(typ):
            values = [None if v is None else bool(v) for v in values]
        if pa.types.is_integer(typ):
            values = [None if v is None else int(v) for v in values]
        return pa.array(values, type=typ)

    return pa.table({name: column(name) for name in names})


def arrow(name, t, codec=None, chunk=None):
    with pa.OSFile(f"{folder}/{name}.arrow", "wb") as f, pa.ipc.new_file(f, t.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as w:
        w.write_table(t, max_chunksize=chunk)


pq.write_table(table(), f"{folder}/plain.parquet", compression="none", use_dictionary=False, write_statistics=False)
pq.write_table(table(), f"{folder}/snappy.parquet", compression="snappy", row_group_size=3)
pq.write_table(table(coded), f"{folder}/zstd-coded.parquet", compression="zstd", row_group_size=2)
pq.write_table(table(small), f"{folder}/small.parquet", compression="gzip", data_page_version="2.0", row_group_size=4)
for seed in range(4):
    pq.write_table(table(small if seed % 2 else coded, seed), f"{folder}/shuffled-{seed}.parquet", compression="zstd", row_group_size=1 + seed)
arrow("plain", table())
arrow("coded", table(coded), "zstd")
arrow("small", table(small), "lz4", 2)
arrow("shuffled", table(small, 9), "zstd", 3)
pa.feather.write_feather(table(coded, 11), f"{folder}/feather-shuffled.ipc")
