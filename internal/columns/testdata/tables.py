"""Writes one table in many ways as Parquet and as Arrow IPC files.

usage: tables.py FOLDER. Each file NAME.parquet or NAME.arrow has the rows of its
expected NAME.json: a list of rows, each a list of cells in the order of the columns.
"""
import json
import random
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

folder = sys.argv[1]
rnd = random.Random(7)
N = 700


def nullable(values, share=0.2):
    return [None if rnd.random() < share else v for v in values]


words = ["", "alpha", "beta", "a longer text with spaces", "ünï¢ødé", "x" * 300]
data = {
    "i64": nullable([rnd.choice([0, -1, 2**63 - 1, -2**63, 2**53 + 1, rnd.randrange(10**12)]) for _ in range(N)]),
    "i32": nullable([rnd.randrange(-2**31, 2**31) for _ in range(N)]),
    "i8": nullable([rnd.randrange(-128, 128) for _ in range(N)]),
    "u16": [rnd.randrange(2**16) for _ in range(N)],
    "u32": nullable([rnd.randrange(2**32) for _ in range(N)]),
    "u64": nullable([rnd.choice([5, 2**63 - 1, 2**63, 2**64 - 1]) for _ in range(N)]),
    "f32": nullable([rnd.randrange(1000) / 8 for _ in range(N)]),
    "f64": nullable([rnd.random() for _ in range(N)]),
    "flag": nullable([rnd.random() < 0.5 for _ in range(N)]),
    "text": nullable([rnd.choice(words) + str(rnd.randrange(50)) for _ in range(N)]),
    "few": nullable([rnd.choice(words) for _ in range(N)]),
    "must": [f"row {i} " + "y" * rnd.randrange(40) for i in range(N)],
    "nothing": [None] * N,
    "ids": nullable([[rnd.randrange(2**62) for _ in range(rnd.randrange(8))] for _ in range(N)]),
    "holes": nullable([nullable([rnd.randrange(10) for _ in range(rnd.randrange(4))]) for _ in range(N)]),
    "never": nullable([[] for _ in range(N)]),
}
fields = [
    pa.field("i64", pa.int64()), pa.field("i32", pa.int32()), pa.field("i8", pa.int8()),
    pa.field("u16", pa.uint16(), nullable=False), pa.field("u32", pa.uint32()), pa.field("u64", pa.uint64()),
    pa.field("f32", pa.float32()), pa.field("f64", pa.float64()), pa.field("flag", pa.bool_()),
    pa.field("text", pa.string()), pa.field("few", pa.string()), pa.field("must", pa.string(), nullable=False),
    pa.field("nothing", pa.null()), pa.field("ids", pa.list_(pa.int64())), pa.field("holes", pa.list_(pa.int32())),
    pa.field("never", pa.list_(pa.null())),
]


def other(name, typ):
    return [pa.field(name, typ, nullable=f.nullable) if f.name == name else f for f in fields]


def table(fields=fields, rows=slice(None)):
    return pa.table({f.name: pa.array(data[f.name][rows], type=f.type) for f in fields}, schema=pa.schema(fields))


def expect(name, t):
    cols = [t.column(i).to_pylist() for i in range(t.num_columns)]
    with open(f"{folder}/{name}.json", "w") as f:
        json.dump({"columns": t.schema.names, "rows": list(zip(*cols))}, f, default=str)


def parquet(name, t, **how):
    pq.write_table(t, f"{folder}/{name}.parquet", **how)
    expect(name + ".parquet", t)


def arrow(name, t, codec=None, chunk=None, stream=False, **how):
    options = pa.ipc.IpcWriteOptions(compression=codec, **how)
    with pa.OSFile(f"{folder}/{name}.arrow", "wb") as f, pa.ipc.new_file(f, t.schema, options=options) as w:
        w.write_table(t, max_chunksize=chunk)
    expect(name + ".arrow", t)


big = other("text", pa.large_string())
big = [pa.field(f.name, pa.large_list(f.type.value_type)) if f.name in ("ids", "holes") else f for f in big]
coded = [pa.field(f.name, pa.dictionary(pa.int32(), f.type)) if f.name in ("text", "few", "i64") else f for f in fields]
strange = fields + [pa.field("when", pa.timestamp("ms")), pa.field("pair", pa.struct([("a", pa.int64()), ("b", pa.string())])),
                    pa.field("bytes", pa.binary()), pa.field("texts", pa.list_(pa.string())), pa.field("price", pa.decimal128(9, 2)),
                    pa.field("deep", pa.list_(pa.list_(pa.int64()))), pa.field("fixed", pa.list_(pa.int64(), 2)), pa.field("map", pa.map_(pa.string(), pa.int64()))]
data |= {"when": list(range(N)), "pair": [{"a": i, "b": "z"} for i in range(N)], "bytes": [b"\xff"] * N, "texts": [["q"]] * N,
         "price": [None] * N, "deep": [[[1], []]] * N, "fixed": [[1, 2]] * N, "map": [[("k", 1)]] * N}

for codec in ["none", "snappy", "gzip", "zstd", "lz4"]:
    for page in ["1.0", "2.0"]:
        parquet(f"{codec}-{page}", table(), compression=codec, data_page_version=page, row_group_size=137, data_page_size=1000, write_page_checksum=page == "2.0")
parquet("plain", table(), use_dictionary=False, write_statistics=False)
parquet("coded", table(coded), row_group_size=100)
parquet("large", table(big))
parquet("loose-names", table(), use_compliant_nested_type=False)
parquet("split", table(), use_dictionary=False, column_encoding={"f32": "BYTE_STREAM_SPLIT", "f64": "BYTE_STREAM_SPLIT", "i64": "BYTE_STREAM_SPLIT", "i32": "BYTE_STREAM_SPLIT"})
parquet("delta", table(), use_dictionary=False, data_page_size=3000, column_encoding={
    "i64": "DELTA_BINARY_PACKED", "i32": "DELTA_BINARY_PACKED", "u32": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "few": "DELTA_LENGTH_BYTE_ARRAY",
    "must": "DELTA_BYTE_ARRAY", "flag": "RLE", "ids.list.element": "DELTA_BINARY_PACKED"}, data_page_version="2.0")
parquet("no-rows", table(rows=slice(0, 0)))
parquet("strange", table(strange))
for codec in [None, "zstd", "lz4"]:
    arrow(f"{codec}", table(), codec, 131)
arrow("coded", table(coded), "zstd", 200)
arrow("large", table(big), "lz4")
arrow("no-rows", table(rows=slice(0, 0)))
arrow("strange", table(strange), "zstd")
views = [pa.field(f.name, pa.string_view()) if f.name in ("text", "must") else f for f in fields]
arrow("views", table(views), "zstd", 300)
# Batches that begin within their buffers.
t = table()
with pa.OSFile(f"{folder}/slices.arrow", "wb") as f, pa.ipc.new_file(f, t.schema) as w:
    for at in range(0, N, 77):
        w.write_batch(t.combine_chunks().to_batches()[0].slice(at, 77))
expect("slices.arrow", t)
# A dictionary that changes between batches is written as what it grew by.
grown = pa.schema([pa.field("few", pa.dictionary(pa.int8(), pa.string()))])
parts = [pa.record_batch([pa.DictionaryArray.from_arrays(pa.array(ix, pa.int8()), values)], schema=grown)
         for ix, values in [([0, 1, None], ["a", "b"]), ([2, 0], ["a", "b", "c"]), ([3, 1], ["a", "b", "c", "d"])]]
with pa.OSFile(f"{folder}/grown.arrow", "wb") as f, pa.ipc.new_file(f, grown, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as w:
    for b in parts:
        w.write_batch(b)
expect("grown.arrow", pa.Table.from_batches([b.cast(pa.schema([("few", pa.string())])) for b in parts]))
# The same rows as other writers put them down.
frame = pl.from_arrow(table())
frame.write_parquet(f"{folder}/polars.parquet", compression="zstd", row_group_size=150, data_page_size=2000)
expect("polars.parquet", table())
frame.write_ipc(f"{folder}/polars.arrow", compression="lz4")
expect("polars.arrow", table())
typed = [f for f in fields if f.name not in ("nothing", "never")]
duck = table(typed)
for version in ("V1", "V2"):
    duckdb.sql(f"COPY (SELECT * FROM duck) TO '{folder}/duckdb-{version}.parquet' (FORMAT PARQUET, CODEC 'zstd', PARQUET_VERSION {version}, ROW_GROUP_SIZE 2048)")
    expect(f"duckdb-{version}.parquet", duck)
