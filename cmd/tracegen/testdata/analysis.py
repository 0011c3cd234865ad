"""Recompute the figures of tracegen analyze from a Mooncake trace, without its code.

usage: analysis.py TRACE BLOCK_SIZES CACHE_TOKENS, the lists with commas. Prints JSON.
"""

import collections
import fractions
import json
import math
import sys

B = 512


def percentile(values, thousandths):
    return values[-(-len(values) * thousandths // 1000) - 1]


def distribution(values):
    values = sorted(values)
    return {
        "n": len(values), "sum": sum(values), "min": values[0], "max": values[-1], "zeros": values.count(0),
        "p10": percentile(values, 100), "p50": percentile(values, 500), "p90": percentile(values, 900),
        "p95": percentile(values, 950), "p99": percentile(values, 990), "p999": percentile(values, 999),
    }


def windows(times, width):
    counts = collections.Counter((t - times[0]) // width for t in times)
    n = (times[-1] - times[0]) // width + 1
    mean = fractions.Fraction(len(times), n)
    # Windows without a request are mean away from the mean.
    squares = sum((c - mean) ** 2 for c in counts.values()) + (n - len(counts)) * mean**2
    most = max(counts.values())
    return {"windows": n, "empty": n - len(counts), "most": most, "peak_to_mean": float(most / mean), "idc": float(squares / n / mean)}


def gap_cv(times):
    gaps = [b - a for a, b in zip(times, times[1:])]
    mean = fractions.Fraction(sum(gaps), len(gaps))
    variance = sum((g - mean) ** 2 for g in gaps) / len(gaps)
    return math.sqrt(variance) / float(mean)


def lru(rows, blocks):
    cache = collections.OrderedDict()  # the most recent last
    hit_blocks = hit_tokens = 0
    for row in rows:
        hit = 0
        for block in row["hash_ids"]:
            if block not in cache:
                break
            hit += 1
        for block in reversed(row["hash_ids"]):
            cache[block] = None
            cache.move_to_end(block)
            if len(cache) > blocks:
                cache.popitem(last=False)
        hit_blocks += hit
        hit_tokens += min(hit * B, row["input_length"])
    return {"hit_blocks": hit_blocks, "hit_tokens": hit_tokens}


def main():
    path, sizes, caches = sys.argv[1], [int(n) for n in sys.argv[2].split(",")], [int(n) for n in sys.argv[3].split(",")]
    with open(path) as f:
        rows = [json.loads(line) for line in f]
    rows.sort(key=lambda row: row["timestamp"])
    times = [row["timestamp"] for row in rows]
    uses = collections.Counter(block for row in rows for block in row["hash_ids"])
    seen, prefixes, anywhere, wholly = set(), [], 0, 0
    for row in rows:
        ids = row["hash_ids"]
        hit = next((i for i, block in enumerate(ids) if block not in seen), len(ids))
        prefixes.append((hit, min(hit * B, row["input_length"])))
        anywhere += sum(block in seen for block in ids)
        wholly += hit == len(ids) > 0
        seen.update(ids)
    again = [n for n in uses.values() if n > 1]
    json.dump({
        "requests": len(rows),
        "input_tokens": distribution([row["input_length"] for row in rows]),
        "output_tokens": distribution([row["output_length"] for row in rows]),
        "total_tokens": distribution([row["input_length"] + row["output_length"] for row in rows]),
        "gap_cv": gap_cv(times),
        "windows": [windows(times, width) for width in (1000, 10000, 60000)],
        "rate": [n for _, n in sorted(({k: 0 for k in range((times[-1] - times[0]) // 60000 + 1)} | collections.Counter((t - times[0]) // 60000 for t in times)).items())],
        "blocks": uses.total(), "distinct": len(uses), "reused": len(again), "reused_uses": sum(again), "wholly_cached": wholly,
        "hit_blocks": sum(hit for hit, _ in prefixes), "hit_tokens": sum(n for _, n in prefixes), "set_blocks": anywhere,
        "server_blocks": [sum(n // size * size for _, n in prefixes) for size in sizes],
        "caches": [lru(rows, tokens // B) for tokens in caches],
    }, sys.stdout)


main()
