"""Reads the table of per-request metrics with pyarrow, Polars and DuckDB and compares
counts, sums and extremes of every metric over ok rows with the summary.

Usage: rows.py ROWS.arrow ROWS.parquet SUMMARY
"""
import json
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

arrow, parquet, summary = sys.argv[1], sys.argv[2], json.load(open(sys.argv[3]))
want = {}
for m in summary["metrics"]:
    if m["population"] == "ok" and m["weighting"] == "request":
        want[m["id"]] = (m["n"], m["sum"], m["min"], m["max"])


def of_pyarrow(table):
    t = table.filter(pc.and_(pc.equal(table["in_window"], 1), pc.equal(table["outcome"], "ok")))
    return {c: (len(t) - t[c].null_count, pc.sum(t[c]).as_py(), pc.min(t[c]).as_py(), pc.max(t[c]).as_py()) for c in want}


def of_polars(frame):
    f = frame.filter((pl.col("in_window") == 1) & (pl.col("outcome") == "ok"))
    return {c: (f[c].count(), f[c].sum() if f[c].count() else None, f[c].min(), f[c].max()) for c in want}


def of_duckdb(source):
    q = ", ".join(f"count({c}), sum({c}), min({c}), max({c})" for c in want)
    row = duckdb.sql(f"select {q} from {source} where in_window = 1 and outcome = 'ok'").fetchall()[0]
    return {c: row[4 * i : 4 * i + 4] for i, c in enumerate(want)}


table = pa.ipc.open_stream(pa.memory_map(arrow)).read_all()
assert table.column_names == pq.read_schema(parquet).names
assert table.equals(pq.read_table(parquet).cast(table.schema)), "the two files differ"
rows_ = table
readers = {
    "pyarrow arrow": of_pyarrow(table),
    "polars arrow": of_polars(pl.read_ipc_stream(arrow)),
    "polars parquet": of_polars(pl.read_parquet(parquet)),
    "duckdb arrow": of_duckdb("rows_"),
    "duckdb parquet": of_duckdb(f"'{parquet}'"),
}
compared = wrong = 0
for name, got in readers.items():
    for c, values in want.items():
        for a, b in zip(values, got[c]):
            compared += 1
            if (a is None) != (b is None) or (a is not None and int(a) != int(b)):
                wrong += 1
                print(f"{name}: {c}: {b}; the summary has {a}")
print(f"readers={len(readers)}")
print(f"compared={compared}")
print(f"wrong={wrong}")
