"""An independent reading of traces, to hold schedules against.

usage: witness.py thin FORMAT TRACE OUT         TRACE without every seventh row
       witness.py check FORMAT TRACE SCHEDULE   compare; prints the figures, exit 1 on a difference

Nothing here is shared with tracegen: rows are read with Python's own readers, the rules
are written down again in the plainest form, and schedules are read from their JSON lines.
"""
import array
import ast
import collections
import csv
import datetime
import decimal
import gc
import gzip
import io
import itertools
import json
import os
import sys
import zlib

import zstandard

gc.disable()  # the lists of ids are large and nothing here is a cycle
D = decimal.Decimal
decimal.getcontext().prec = 60
SECOND = 10**9


def plain(path):
    with open(path, "rb") as f:
        b = f.read()
    if b[:4] == b"\x28\xb5\x2f\xfd":
        return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(b), read_across_frames=True).read()
    if b[:2] == b"\x1f\x8b":
        return gzip.decompress(b)
    return b


def json_lines(b):
    for number, line in enumerate(b.decode().split("\n"), 1):
        if line.strip():
            yield number, json.loads(line, parse_float=D)


def rounded(value, digits):
    """A number in some unit as ns: value * 10**digits, rounded to whole units of ns first."""
    return int(value.scaleb(digits).quantize(D(1), rounding=decimal.ROUND_HALF_UP))


def seconds(value, grain):  # grain: digits of a second that are kept
    return rounded(D(value), grain) * 10 ** (9 - grain)


def iso(text):
    t = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    if t.tzinfo is None:
        t = t.replace(tzinfo=datetime.timezone.utc)
    d = t - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return (d.days * 86400 + d.seconds) * SECOND + d.microseconds * 1000


class Request:
    """One request: at and key in ns, after as a list of requests, delay in ns or None."""

    def __init__(self, session, at, tokens_in, tokens_out, ids=None, scope="", e2e=None, key=None):
        self.session, self.at, self.tin, self.tout, self.ids, self.scope, self.e2e = session, at, tokens_in, tokens_out, ids, scope, e2e
        self.key = at if key is None else key
        self.after, self.delay = [], None


def link(stream, grain, listed=None, spawned=None, join=()):
    """Predecessors by the rule for all formats with sessions; stream is in listed order.
    anc holds, for each request, the set of its ancestors as bits over number."""
    for k, r in enumerate(stream):
        before = [j for j in stream[:k] if j.at < r.at and j.at + (j.e2e or 0) <= r.at + grain]
        settle(r, before + [j for target, j in join if target is r])


def settle(r, candidates):
    candidates = list(dict.fromkeys(candidates))
    above = set()
    for j in reversed(candidates):
        if j not in above:  # or all that is above j is in there already
            above |= j.anc
    r.after = [j for j in candidates if j not in above]
    r.anc = above | set(r.after)
    if r.after:
        end = max(j.at + (j.e2e or 0) for j in r.after)
        known = all(j.e2e is not None for j in r.after if j.at + (j.e2e or 0) == end)
        r.delay = max(0, r.at - end) if known else None


def by_session(requests):
    groups = collections.defaultdict(list)
    for r in requests:
        groups[r.session].append(r)
    return groups.values()


def zero(requests):
    least = min(r.at for r in requests)
    for r in requests:
        r.at -= least
        r.key = r.at


# Readers. Each returns the block size (None without ids) and the requests in file order.

def rows(path):
    return list(csv.DictReader(io.StringIO(plain(path).decode("utf-8-sig"))))


def azure(path):
    out = []
    for n, row in enumerate(rows(path), 1):
        date, dot, rest = row["TIMESTAMP"].partition(".")
        digits = rest.partition("+")[0]
        base = iso(date.partition("+")[0].replace(" ", "T"))
        at = base + (rounded(D("0." + digits), 7) * 100 if digits else 0)
        out.append(Request(f"r{n}", at, int(row["ContextTokens"]), int(row["GeneratedTokens"])))
    zero(out)
    return None, out


def vidur(path):
    return None, [Request(f"r{n}", seconds(r["arrived_at"], 6), int(r["num_prefill_tokens"]), int(r["num_decode_tokens"])) for n, r in enumerate(rows(path), 1)]


def burstgpt(path):
    out = []
    for n, r in enumerate(rows(path), 1):
        elapsed = r.get("Elapsed time") or ""
        out.append(Request(r.get("Session ID") or f"r{n}", seconds(r["Timestamp"], 3), int(r["Request tokens"]), int(r["Response tokens"]), e2e=seconds(elapsed, 3) if elapsed else None))
    zero(out)
    for s in by_session(sorted(out, key=lambda r: r.at)):
        link(s, SECOND)
    return None, out


def mooncake(path):
    out, last = [], {}
    for n, r in json_lines(plain(path)):
        session = r.get("session_id")
        at = None if r.get("timestamp") is None else rounded(D(r["timestamp"]), 3) * 1000
        before = last.get(session) if session else None
        delay = None if r.get("delay") is None else rounded(D(r["delay"]), 3) * 1000
        key = at if at is not None else before.key + (delay or 0)
        q = Request(session or f"r{n}", at, r.get("input_length"), r.get("output_length"), r.get("hash_ids"), key=key)
        if before:
            q.after, q.delay = [before], delay if delay is not None or at is not None else 0
        if session:
            last[session] = q
        out.append(q)
    return 512, out


def bailian(path):
    chats, out = {}, []
    for n, r in json_lines(plain(path)):
        q = Request(None, seconds(r["timestamp"], 3), r["input_length"], r["output_length"], r.get("hash_ids"))
        q.chat, q.parent = r["chat_id"], r["parent_chat_id"]
        chats[q.chat] = q
        out.append(q)
    for q in out:
        root = q
        while root.parent in chats:
            root = chats[root.parent]
        q.session = str(root.chat)
        parent = chats.get(q.parent)
        if parent and parent.at <= q.at:
            q.after = [parent]
    return 16, out


RAG = [("sys_prompt", "1_sys_prompt", "sys_prompt_id"), ("passages_ids", "2_passages", "passage_id"), ("history", "3_history", "history_id"),
       ("web_search", "5_web_search", "web_search_id"), ("user_input", "4_user_input", "user_input_id")]


def ragpulse(path, block=16):
    folder = os.environ.get("WITNESS_TABLES") or os.path.dirname(path)
    size = {}
    for _, name, key in RAG:
        for file in os.listdir(folder):
            if file.startswith(name):
                for _, row in json_lines(plain(os.path.join(folder, file))):
                    size[row[key]] = row["token_length"]
    out, last, numbers = [], {}, {}
    weeks = clock = 0
    for n, r in json_lines(plain(path)):
        written = int(r["timestamp"])
        if written < clock - 302400:
            weeks += 1
        clock = written
        parts, ids, before, fill = [], [], None, []
        left = block
        for name, _, _ in RAG:
            for c in r["hash_ids"][name]:
                at = 0
                while at < size[c]:
                    take = min(left, size[c] - at)
                    fill.append((c, at, at + take))
                    at, left = at + take, left - take
                    if left == 0:
                        before = numbers.setdefault((before, tuple(fill)), len(numbers))
                        ids.append(before)
                        fill, left = [], block
        q = Request(r["session_id"], (written + weeks * 604800) * SECOND, r["input_length"], r["output_length"], ids[: r["input_length"] // block])
        out.append(q)
    for s in by_session(sorted(out, key=lambda r: r.at)):
        for a, b in zip(s, s[1:]):
            b.after = [a]
    return block, out


def weka(path):
    if os.path.isdir(path):
        docs = []
        for name in os.listdir(path):
            docs += [d for _, d in json_lines(plain(os.path.join(path, name)))]
        docs.sort(key=lambda d: d["id"])
    else:
        docs = [d for _, d in json_lines(plain(path))]
    whole = all(D(r["t"]) % 1 == 0 for d in docs for r in d["requests"] if r["type"] != "subagent")
    grain = SECOND if whole else SECOND // 1000
    out = []
    for d in docs:
        out += weka_trace(d, grain)
    return docs[0]["block_size"], out


def weka_trace(d, grain):
    def request(r, base):
        service = None if r.get("api_time") is None else seconds(r["api_time"], 3)
        return Request(d["id"], base + seconds(r["t"], 3), r["in"], r["out"], r.get("hash_ids"), d["id"], service)

    listed, parents, waiting = [], [], []
    for entry in d["requests"]:
        if entry["type"] != "subagent":
            r = request(entry, 0)
            join = [leaf for t, leaves in waiting if r.at + grain >= t for leaf in leaves]
            waiting = [(t, leaves) for t, leaves in waiting if r.at + grain < t]
            settle(r, join + [p for p in parents if p.at < r.at and p.at + (p.e2e or 0) <= r.at + grain])
            parents.append(r)
            listed.append(r)
            continue
        t = seconds(entry["t"], 3)
        duration = entry.get("duration_ms")
        done = entry["status"] == "completed" or entry["status"] != "async_launched" and duration is not None
        start = t - duration * 10**6 if done else t
        if done and parents and start < parents[-1].at + (parents[-1].e2e or 0) - grain:
            start = t
        inner = entry["requests"]
        if not inner:
            continue
        relative = min(seconds(r["t"], 3) for r in inner) + grain < start
        stream = []
        for r in inner:
            r = request(r, start if relative else 0)
            own = [j for j in stream if j.at < r.at and j.at + (j.e2e or 0) <= r.at + grain]
            settle(r, own or [p for p in parents if p.at <= start and p.at + (p.e2e or 0) <= start + grain])
            stream.append(r)
        listed += stream
        if done:
            waited = {j for r in stream for j in r.after}
            waiting.append((t, [r for r in stream if r not in waited]))
    return listed


def columnar(path):
    import pyarrow as pa
    import pyarrow.parquet as pq
    with open(path, "rb") as f:
        head = f.read(4)
    return pq.read_table(path) if head == b"PAR1" else pa.ipc.open_file(path).read_all()


def baseten(path):
    t = columnar(path)
    names = t.column_names
    session = next((n for n in ["provided_session_id", "poor_man_session_id"] if n in names), None)
    out, size = [], None
    for n, r in enumerate(t.to_pylist(), 1):
        e2e = r.get("duration_e2e_ms")
        name = r.get(session) if session else None
        q = Request(f"r{n}" if name is None or name == "" else str(name), r["timestamp_start_unix_ms"] * 10**6, r["input_tokens"], r["output_tokens"],
                    r.get("total_hashes") or None, e2e=None if e2e is None else rounded(D(e2e), 0) * 10**6)
        size = size or r.get("block_size")
        out.append(q)
    zero(out)
    for s in by_session(sorted(out, key=lambda r: r.at)):
        link(s, 10**6)
    return size, out


def moment(v):
    if isinstance(v, str):
        return iso(v)
    v = D(v)
    for limit, digits in ((10**17, 0), (10**14, 3), (10**11, 6)):
        if v >= limit:
            return rounded(v.scaleb(digits - 3), 0) * 1000
    return seconds(v, 6)


def openai(path):
    out = []
    for n, r in json_lines(plain(path)):
        at = moment(next(r[k] for k in ("timestamp", "time", "start_time", "created_at") if k in r))
        body = json.loads(r["body"], parse_float=D) if isinstance(r["body"], str) else r["body"]
        usage = r.get("usage") or (r.get("response") or {}).get("usage") or {}
        limit = body.get("max_tokens", body.get("max_completion_tokens", usage.get("completion_tokens")))
        e2e = rounded(D(r["duration_ms"]), 3) * 1000 if r.get("duration_ms") is not None else None
        out.append(Request(r.get("session_id") or f"r{n}", at, usage.get("prompt_tokens"), limit, e2e=e2e))
    if min(q.at for q in out) >= 10**8 * SECOND:
        zero(out)
    for s in by_session(sorted(out, key=lambda r: r.at)):
        link(s, 10**6)
    return None, out


def otel(path):
    out = []
    for span in json.loads(plain(path))["spans"]:
        a = span["attributes"]
        start, end = iso(span["start_time"]), iso(span["end_time"])
        out.append(Request(a["exgentic.session.id"], start, None, a["gen_ai.request.max_tokens"], e2e=end - start))
    zero(out)
    for s in by_session(sorted(out, key=lambda r: r.at)):
        link(s, 10**6)
    return None, out


READERS = {"azure": azure, "vidur": vidur, "burstgpt": burstgpt, "mooncake": mooncake, "bailian": bailian, "ragpulse": ragpulse, "weka": weka,
           "baseten": baseten, "openai-jsonl": openai, "otel": otel}


# What a list of requests comes to, in the order in which they are sent.

def figures(requests, block):
    seen = collections.defaultdict(set)
    f = collections.Counter()
    for r in requests:
        f["requests"] += 1
        f["input"] += r.tin or 0
        f["output"] += r.tout or 0
        f["after"] += len(r.after)
        f["several"] += len(r.after) > 1
        f["delay"] += r.delay or 0
        f["delay_null"] += bool(r.after) and r.delay is None
        f["delay_zero"] += r.delay == 0
        f["e2e"] += r.e2e or 0
        ids, known = r.ids or (), seen[r.scope]
        r.hit = len(list(itertools.takewhile(known.__contains__, ids)))
        known.update(ids[r.hit:])
        f["blocks"] += len(ids)
        f["hit_blocks"] += r.hit
        f["hit_tokens"] += min(r.hit * block, r.tin) if ids else 0
        r.blocks, r.print = len(ids), zlib.crc32(array.array("q", ids).tobytes())
        r.ids = None
    f["distinct"] = sum(map(len, seen.values()))
    f["sessions"] = len({r.session for r in requests})
    timed = [r.at for r in requests if r.at is not None]
    f["first_ns"], f["last_ns"] = min(timed), max(timed)
    return dict(f)


def shape(r, prints):
    """A request without the numbers of lines, for comparison in any order."""
    waits = sorted((j.key, j.tin or -1, j.tout or -1) for j in r.after)
    none = lambda v: -1 if v is None else v
    return (r.session, none(r.at), none(r.tin), none(r.tout), r.blocks, r.print if prints else 0, r.hit, none(r.delay), none(r.e2e), tuple(waits))


def schedule(path):
    """The requests of a schedule, in its order, and its trailer."""
    out, kept, trailer = [], {}, None
    for line in plain(path).decode().splitlines():
        v = json.loads(line)
        if "schedule" in v:
            header = v["schedule"]
            continue
        if "end" in v:
            trailer = v["end"]
            continue
        b, ids, scope = v.get("blocks"), None, ""
        stream = (v["session"], v["stream"])
        if b:
            ids, scope = kept.get(stream, [])[: b["keep"]], b["scope"]
            for first, n in b["add"]:
                ids = ids + list(range(first, first + n))
            kept[stream] = ids
        r = Request(v["session"], v.get("at_ns"), v.get("input_tokens"), v.get("output_tokens"), ids, scope, v.get("recorded", {}).get("e2e_ns"))
        r.after, r.delay = [out[j] for j in v.get("after", [])], v.get("delay_ns")
        if r.at is None:
            r.key = max(j.key for j in r.after) + (r.delay or 0)
        if v.get("last"):
            kept = {s: i for s, i in kept.items() if s[0] != v["session"]}
        if v["id"] != len(out):
            sys.exit(f"line {len(out)} has id {v['id']}")
        if out and r.key < out[-1].key:
            sys.exit(f"line {len(out)} stands after a later one")
        out.append(r)
    return header, out, trailer


def client(folder):
    """The windows of one ServeGen client: start in s, number of requests, and the lengths
    that have a probability, as {field: values}."""
    def file(end):
        return plain(next(os.path.join(folder, n) for n in os.listdir(folder) if end in n)).decode()

    data = {}
    for at, fields in json.loads(file("-dataset.json")).items():
        values = {k: set(ast.literal_eval(v)) for k, v in fields.items()}
        if all(v for k, v in values.items() if k != "reason_ratio"):
            data[int(float(at))] = values
    windows = []
    for row in csv.reader(io.StringIO(file("-trace.csv"))):
        at, rate = int(float(row[0])), D(row[1])
        lengths = data[max(d for d in data if d <= at)] if rate else None
        windows.append((at, int((rate * 600).quantize(D(1), rounding=decimal.ROUND_HALF_UP)), lengths))
    return windows


def check_client(folder, path):
    """Requests are drawn, so their number in each window and the lengths they may have
    are what can be held against them."""
    windows = client(folder)
    header, theirs, trailer = schedule(path)
    left = {at: n for at, n, _ in windows}
    lengths = {at: l for at, _, l in windows}
    bad = []
    for r in theirs:
        at = max((w for w in left if w * SECOND <= r.at), default=None) if theirs else None
        if at is None or r.at >= (at + 600) * SECOND or not lengths[at]:
            bad.append(f"a request at {r.at} ns, in no window")
            continue
        left[at] -= 1
        items = [k[:-6] for k in lengths[at] if k.endswith("_count")]
        text = lengths[at].get("input_tokens") or lengths[at]["text_tokens"]
        if r.tout not in lengths[at]["output_tokens"] or not items and r.tin not in text or r.tin < min(text):
            bad.append(f"a request of {r.tin} and {r.tout} tokens at {r.at} ns, which have no probability there")
    bad += [f"window {at}: {n} requests too few" for at, n in left.items() if n]
    total = sum(n for _, n, _ in windows)
    if trailer["requests"] != total:
        bad.append(f"trailer requests: {trailer['requests']}, the trace has {total}")
    print(json.dumps({"requests": total, "windows": len(windows)}))
    if bad:
        sys.exit("\n".join(bad[:5]))


def check(name, trace, path):
    if name == "servegen":
        return check_client(trace, path)
    block, mine = READERS[name](trace)
    mine.sort(key=lambda r: r.key)
    header, theirs, trailer = schedule(path)
    want, got = figures(mine, block), figures(theirs, block)
    bad = [f"{k}: the schedule has {got.get(k)}, the trace {v}" for k, v in want.items() if got.get(k) != v]
    size = (header.get("block") or {}).get("tokens")
    if want["blocks"] and size != block:
        bad.append(f"block: the schedule has {size}, the trace {block}")
    for key, figure in (("requests", "requests"), ("sessions", "sessions"), ("input_tokens", "input"), ("output_tokens", "output"), ("blocks", "blocks"),
                        ("distinct_blocks", "distinct"), ("hit_blocks", "hit_blocks"), ("hit_tokens", "hit_tokens")):
        if trailer[key] != want[figure]:
            bad.append(f"trailer {key}: {trailer[key]}, the trace has {want[figure]}")
    prints = name != "ragpulse"  # whose ids are numbers that a reader gives
    a, b = sorted(shape(r, prints) for r in mine), sorted(shape(r, prints) for r in theirs)
    differ = [(x, y) for x, y in zip(a, b) if x != y]
    bad += [f"request\n  trace    {x}\n  schedule {y}" for x, y in differ[:3]]
    print(json.dumps(want))
    if bad:
        sys.exit("\n".join(bad))


def seventh(items):
    return [x for n, x in enumerate(items, 1) if n % 7]


def thin(name, trace, out):
    if name == "baseten":
        import pyarrow as pa
        import pyarrow.parquet as pq
        t = columnar(trace)
        pq.write_table(t.take([i for i in range(len(t)) if (i + 1) % 7]), out, row_group_size=5)
        return
    b = plain(trace)
    if name in ("otel", "weka") and b.count(b"\n") != b.count(b"}\n") or name == "weka" and b"\n" not in b:
        d = json.loads(b, parse_float=D)  # one document: the rows are its spans or requests
        key = "spans" if name == "otel" else "requests"
        d[key] = seventh(d[key])
        d.pop("totals", None)
        text = json.dumps(d, default=lambda v: float(v))
        with open(out, "w") as f:
            f.write(text)
        return
    lines = b.decode("utf-8-sig").splitlines()
    head = lines[:1] if name in ("azure", "vidur", "burstgpt") else []
    with open(out, "w", newline="") as f:
        f.write("".join(line + "\n" for line in head + seventh(lines[len(head):])))


if __name__ == "__main__":
    what, *args = sys.argv[1:]
    {"check": check, "thin": thin}[what](*args)
