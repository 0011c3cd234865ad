"""Computes the metrics of a run from its rows, with pyarrow and numpy and nothing of
reduce, and compares them with a summary of the whole load (reduce --window 0s:1h).

Usage: independent.py RUN SUMMARY. Every figure has to be equal to the last digit; prints
how many were compared, and how many of these were null in both.
"""
import json
import math
import sys

import numpy as np
import pyarrow as pa

OUTCOMES = ["ok", "http_error", "stream_error", "malformed", "truncated", "empty", "timeout_first_byte", "timeout_idle",
            "timeout_total", "connect_error", "cancelled", "cancelled_planned", "not_sent"]
LEVELS = [10, 50, 100, 250, 500, 750, 900, 950, 990, 999]
SECOND = 1_000_000_000

table = pa.ipc.open_stream(pa.memory_map(sys.argv[1])).read_all()
rows = table.to_pylist()
summary = json.load(open(sys.argv[2]))

compared = nulls = wrong = 0


def same(what, got, want):
    """got is the summary's, want is ours."""
    global compared, nulls, wrong
    compared += 1
    if got is None and want is None:
        nulls += 1
    if (got is None) != (want is None) or (want is not None and got != want):
        wrong += 1
        print(f"{what}: reduce says {got!r}, the rows say {want!r}")


def sub(a, b):
    return None if a is None or b is None else a - b


def add(a, b):
    return None if a is None or b is None else a + b


def half_up(a, b):
    """a/b to the nearest whole number, halves up."""
    return None if a is None or b is None or b <= 0 else (2 * a + b) // (2 * b)


def first(*xs):
    return next((x for x in xs if x is not None), None)


def rank(n, level):
    return -(-n * level // 1000)


def floor(level):
    """The smallest n that can certify a level at 99 %, by the tail of the binomial: with
    k of n values beyond the percentile, I_p(h, 2) is the chance of at most one."""
    p = max(level, 1000 - level) / 1000
    h = 1
    while True:
        m = h + 1  # I_p(h, 2) = P(Binomial(h+1, p) >= h)
        if p**m + m * p ** (m - 1) * (1 - p) < 0.01:
            return 1 + h
        h += 1


FLOORS = {level: floor(level) for level in LEVELS}


def dial(r):
    if r["connect_ns"] is None:
        return 0
    return sub(first(r["tls_ns"], r["connect_ns"]), first(r["dns_ns"], r["conn_asked_ns"]))


def wire(r, t):
    return add(sub(t, r["write_done_ns"]), dial(r))


def last(r):
    return r["end_ns"] if r["last_token_ns"] is None and r["first_token_ns"] is None else r["last_token_ns"]


def one_chunk(r):
    return r["token_events"] is not None and r["token_events"] < 2


def later(r):
    """Tokens after those of the first chunk, None when nobody counted."""
    if r["output_tokens"] is None or r["token_source"] in (None, "events") or one_chunk(r):
        return None
    return r["output_tokens"] - first(r["first_chunk_tokens"], 1)


def tpot(r, decode):
    return half_up(decode, later(r))


def speed(r):
    k, d = later(r), sub(r["last_token_ns"], r["first_token_ns"])
    return None if k is None or k <= 0 else half_up(k * 10**12, d)


def gaps(r):
    return [1000 * g for g in r["chunk_gap_us"] or []]


def client_time(r):
    if r["first_token_ns"] is None:
        return None
    t = add(sub(r["conn_asked_ns"], r["due_ns"]), sub(sub(r["conn_ready_ns"], r["conn_asked_ns"]), dial(r)))
    return add(t, first(sub(r["first_token_ns"], r["first_token_kernel_ns"]), 0))


def prefill(r):
    t = wire(r, r["first_token_kernel_ns"])
    return None if r["input_tokens"] is None else half_up(max(0, r["input_tokens"] - (r["cached_tokens"] or 0)) * 10**12, t)


def gap_p99(r):
    g = sorted(gaps(r))
    return g[rank(len(g), 990) - 1] if g else None


tpot_applies = lambda r: not one_chunk(r) and (r["output_tokens"] is None or r["output_tokens"] - first(r["first_chunk_tokens"], 1) > 0)
icl_applies = lambda r: not one_chunk(r)
always = lambda r: True

# id: value of a row, and whether it can exist
METRICS = {
    "lag": (lambda r: sub(r["dispatched_ns"], r["due_ns"]), always),
    "handoff": (lambda r: sub(r["conn_asked_ns"], r["dispatched_ns"]), always),
    "send_lag": (lambda r: sub(r["conn_asked_ns"], r["due_ns"]), always),
    "slip": (lambda r: sub(r["due_ns"], r["scheduled_ns"]), always),
    "prepare_lead": (lambda r: sub(r["due_ns"], r["prepared_ns"]), always),
    "conn_wait": (lambda r: sub(sub(r["conn_ready_ns"], r["conn_asked_ns"]), dial(r)), always),
    "dial_time": (lambda r: None if r["connect_ns"] is None else dial(r), always),
    "upload": (lambda r: sub(r["write_done_ns"], r["conn_ready_ns"]), always),
    "ttfb_user": (lambda r: sub(r["first_byte_ns"], r["due_ns"]), always),
    "ttfb_wire": (lambda r: wire(r, r["first_byte_kernel_ns"]), always),
    "ttft_user": (lambda r: sub(r["first_token_ns"], r["due_ns"]), always),
    "ttft_wire": (lambda r: wire(r, r["first_token_kernel_ns"]), always),
    "ttft_sent": (lambda r: wire(r, r["first_token_ns"]), always),
    "ttfo_user": (lambda r: sub(r["first_answer_ns"], r["due_ns"]), always),
    "ttfo_wire": (lambda r: wire(r, r["first_answer_kernel_ns"]), always),
    "ttfo_sent": (lambda r: wire(r, r["first_answer_ns"]), always),
    "e2e_user": (lambda r: sub(last(r), r["due_ns"]), always),
    "e2e_wire": (lambda r: wire(r, r["last_token_kernel_ns"]), always),
    "e2e_sent": (lambda r: wire(r, last(r)), always),
    "close_user": (lambda r: sub(r["end_ns"], r["due_ns"]), always),
    "decode_user": (lambda r: sub(r["last_token_ns"], r["first_token_ns"]), always),
    "decode_wire": (lambda r: sub(r["last_token_kernel_ns"], r["first_token_kernel_ns"]), always),
    "think": (lambda r: sub(r["first_answer_ns"], r["first_token_ns"]), always),
    "tpot_user": (lambda r: tpot(r, sub(r["last_token_ns"], r["first_token_ns"])), tpot_applies),
    "tpot_wire": (lambda r: tpot(r, sub(r["last_token_kernel_ns"], r["first_token_kernel_ns"])), tpot_applies),
    "speed": (speed, always),
    "ntpot": (lambda r: half_up(sub(last(r), r["due_ns"]), r["output_tokens"]), always),
    "prefill_speed": (prefill, always),
    "icl_mean": (lambda r: half_up(sum(gaps(r)), len(gaps(r))) if gaps(r) else None, icl_applies),
    "icl_p99": (gap_p99, icl_applies),
    "icl_max": (lambda r: max(gaps(r), default=None), icl_applies),
    "client_time": (client_time, always),
    "time_to_failure": (lambda r: sub(r["end_ns"], r["due_ns"]), always),
}


def sent(r):
    return r["outcome"] != "not_sent" and not (r["outcome"] == "connect_error" and (r["error"] or "").startswith("local: "))


POPULATIONS = {
    "all": always,
    "dispatched": lambda r: r["dispatched_ns"] is not None,
    "ok": lambda r: r["outcome"] == "ok",
    "failed": lambda r: r["outcome"] not in ("ok", "cancelled_planned") and sent(r),
}

u = np.array([first(r["due_ns"], r["scheduled_ns"]) for r in rows], dtype=np.int64)
begin, end = int(u.min()), int(u.max()) + 1
length = end - begin
planned = [r for r in rows if begin <= first(r["due_ns"], r["scheduled_ns"]) < end]
ok = [r for r in planned if r["outcome"] == "ok"]

same("window.from_ns", summary["window"]["from_ns"], begin)
same("window.to_ns", summary["window"]["to_ns"], end)


def percentiles(what, m, x, misses=0):
    """x sorted; misses rank as +infinity behind it."""
    n = len(x) + misses
    for p in m["percentiles"]:
        at = rank(n, p["level"])
        want = None if n < FLOORS[p["level"]] or at > len(x) else int(x[at - 1])
        same(f"{what} p{p['level'] / 10:g}", p["value"], want)
        if n >= FLOORS[p["level"]] and at > len(x):
            same(f"{what} p{p['level'] / 10:g} infinite", p.get("infinite", False), True)


for m in summary["metrics"]:
    what = f"{m['id']} {m['population']}"
    if m["id"] in METRICS:
        value, applies = METRICS[m["id"]]
        if m["population"] == "planned":
            members = [r for r in planned if r["outcome"] != "cancelled_planned"]
            good = [value(r) for r in members if r["outcome"] == "ok" and value(r) is not None]
            neutral = sum(r["outcome"] == "ok" and value(r) is None and not applies(r) for r in members)
            misses = len(members) - len(good) - neutral
            if not good:  # nothing measured: no ranks at all
                same(f"{what} n", m["n"], 0)
                percentiles(what, m, [])
                continue
            same(f"{what} n", m["n"], len(good) + misses)
            percentiles(what, m, np.sort(np.array(good, dtype=np.int64)), misses)
            continue
        all_ = [value(r) for r in planned if POPULATIONS[m["population"]](r)]
        x = np.sort(np.array([v for v in all_ if v is not None], dtype=np.int64))
        same(f"{what} nulls", m["nulls"], len(all_) - len(x))
    elif m["id"] == "icl":
        x = np.sort(np.array([g for r in ok for g in gaps(r)], dtype=np.int64))
    else:
        continue
    total = sum(int(v) for v in x)
    same(f"{what} n", m["n"], len(x))
    same(f"{what} sum", m["sum"], total if len(x) else None)
    same(f"{what} mean", m["mean"], total / len(x) if len(x) else None)
    same(f"{what} min", m["min"], int(x[0]) if len(x) else None)
    same(f"{what} max", m["max"], int(x[-1]) if len(x) else None)
    if m["id"] == "icl":
        continue  # its percentiles are a sketch's
    percentiles(what, m, x)

scalars = {s["id"]: s["value"] for s in summary["scalars"]}
seconds = length / SECOND
rated = seconds >= 10 and len(planned) >= 20


def rate(n):
    return n * 1e9 / length if rated else None


def share(n, d):
    return n / d if d else None


inside = lambda t: t is not None and begin <= t < end
cut = sum(r["outcome"] == "cancelled_planned" for r in planned)
same("window_s", scalars["window_s"], seconds)
same("planned_rps", scalars["planned_rps"], rate(len(planned)))
same("sent_rps", scalars["sent_rps"], rate(sum(sent(r) and inside(r["conn_asked_ns"]) for r in rows)))
same("ok_rps", scalars["ok_rps"], rate(sum(r["outcome"] == "ok" and inside(r["end_ns"]) for r in rows)))
same("ended_rps", scalars["ended_rps"], rate(sum(inside(r["end_ns"]) for r in rows)))
counted = [r for r in rows if inside(r["first_token_ns"])]
in_tps = None if any(r["input_tokens"] is None for r in counted) else rate(sum(r["input_tokens"] for r in counted))
same("in_tps", scalars["in_tps"], in_tps)
spans = [r for r in rows if r["outcome"] == "ok" and r["conn_asked_ns"] is not None and r["last_token_ns"] is not None]
if spans:
    span = max(r["last_token_ns"] for r in spans) - min(r["conn_asked_ns"] for r in spans)
    same("span_rps", scalars["span_rps"], len(spans) * 1e9 / span)
    same("span_out_tps", scalars["span_out_tps"], sum(max(0, r["output_tokens"] or 0) for r in spans) * 1e9 / span)
else:
    same("span_rps", scalars["span_rps"], None)
    same("span_out_tps", scalars["span_out_tps"], None)
same("failure_share", scalars["failure_share"], 1 - len(ok) / (len(planned) - cut) if len(planned) > cut else None)
same("sent_share", scalars["sent_share"], share(sum(map(sent, planned)), len(planned)))
for o in OUTCOMES:
    n = sum(r["outcome"] == o for r in planned)
    same(f"share_{o}", scalars[f"share_{o}"], share(n, len(planned)))
    same(f"outcome {o}", next(x["in_window"] for x in summary["outcomes"] if x["name"] == o), n)
lags = [sub(r["conn_asked_ns"], r["due_ns"]) for r in planned]
lags = [v for v in lags if v is not None]
for ms in (1, 2, 5, 10, 50):
    same(f"late_share_{ms}ms", scalars[f"late_share_{ms}ms"], share(sum(v > ms * 1_000_000 for v in lags), len(lags)))
for kind in ("input_tokens", "output_tokens", "reasoning_tokens", "cached_tokens", "token_events"):
    same(f"{kind}_total", scalars[f"{kind}_total"], sum(r[kind] or 0 for r in rows))
for source in ("usage_chunks", "usage", "tokenizer", "events", None):
    n = sum(r["token_source"] == source for r in ok)
    same(f"source_share_{source}", scalars[f"source_share_{source or 'none'}"], share(n, len(ok)))
same("cached share", scalars["cache_coverage"], share(sum(r["cached_tokens"] is not None for r in ok), len(ok)))

assert not math.isnan(seconds)
print(f"compared={compared}")
print(f"nulls={nulls}")
print(f"wrong={wrong}")
