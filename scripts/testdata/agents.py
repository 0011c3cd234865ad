"""Holds a run of an agent trace against the trace itself.

agents.py TRACE.json[.zst] RUN.arrows SPEED TIMING

Works out from the JSON alone what each request waits for, and checks every row of the run.
Times are in ns, SPEED is a whole number, TIMING is schedule, think or asap. Prints what
it checked, one key=value a line."""
import io
import json
import sys
from decimal import Decimal

import pyarrow as pa
import zstandard

path, run, speed, timing = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
raw = open(path, "rb").read()
if raw[:4] == b"\x28\xb5\x2f\xfd":
    raw = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(raw)).read()
trace = json.loads(raw, parse_float=Decimal)
second = 10**9


def ns(v):
    return int(Decimal(v) * second)


class Call:
    def __init__(self, stream, turn, entry, start):
        self.name = (stream, turn)
        self.entry = entry
        self.start = start
        self.known = "api_time" in entry
        self.end = start + ns(entry.get("api_time", 0))
        self.after = set()
        self.ancestors = set()

    def wait(self, calls):
        """Waits for calls, less those that another of them waits for."""
        for c in calls:
            self.ancestors |= c.ancestors
        self.after = {c for c in calls if c not in self.ancestors}
        self.ancestors |= self.after

    def delay(self):
        if not self.after:
            return None
        last = max(c.end for c in self.after)
        if any(c.end == last and not c.known for c in self.after):
            return None
        return max(0, self.start - last)


def over(calls, at):
    return [c for c in calls if c.start <= at and c.end <= at + second]


parent, every, results = [], [], []
for entry in trace["requests"]:
    t = ns(entry["t"])
    if entry["type"] != "subagent":
        call = Call("0", len(parent), entry, t)
        ready = [leaves for at, leaves in results if t + second >= at]
        results = [(at, leaves) for at, leaves in results if t + second < at]
        call.wait(over(parent, t) + [c for leaves in ready for c in leaves])
        parent.append(call)
        every.append(call)
        continue
    launched = t
    if entry["status"] == "completed":
        launched -= entry["duration_ms"] * 10**6
    inner = []
    for turn, e in enumerate(entry["requests"]):
        call = Call(entry["agent_id"], turn, e, launched + ns(e["t"]))
        call.wait(over(inner, call.start) or over(parent, launched))
        inner.append(call)
    every += inner
    if entry["status"] == "completed":
        waited = {c for call in inner for c in call.after}
        results.append((t, [c for c in inner if c not in waited]))

calls = {c.name: c for c in every}
assert len(calls) == len(every), "two calls of one name"
span = max(c.start for c in every) // speed

table = pa.ipc.open_stream(pa.memory_map(run)).read_all()
rows = {}
for r in table.to_pylist():
    session, _, number = r["session"].partition("#")
    assert session == trace["id"], session
    key = (int(number or 0), r["stream"], r["turn"])
    assert key[0] == r["pass"], (key, r["pass"])
    assert key not in rows, f"{key} twice"
    rows[key] = r
names = {r["request_id"]: key for key, r in rows.items()}

dependencies = joins = unknown = 0
for key, r in rows.items():
    call = calls[key[1:]]
    assert r["outcome"] == "ok", (key, r["outcome"], r["error"])
    assert (r["planned_input_tokens"], r["planned_output_tokens"], r["model"]) == (call.entry["in"], call.entry["out"], call.entry["model"]), key
    assert r["input_tokens"] == call.entry["in"] and r["output_tokens"] == max(1, call.entry["out"]), key
    before = {(key[0], *c.name) for c in call.after}
    named = {names[i] for i in r["after"] or []}
    assert before == named, f"{key} waits for {named}, want {before}"
    assert r["dispatched_ns"] >= r["due_ns"], key
    at = key[0] * span + call.start // speed
    assert r["scheduled_ns"] == at, (key, r["scheduled_ns"], at)
    ends = [rows[b]["end_ns"] for b in before]
    for e in ends:
        assert r["dispatched_ns"] >= e, f"{key} went out {e - r['dispatched_ns']} ns before the end of what it waits for"
    dependencies += len(ends)
    joins += len(ends) > 1
    delay = call.delay()
    unknown += bool(before) and delay is None
    if timing == "asap":
        continue
    if not before:
        due = at
    elif timing == "schedule":
        due = max(at, max(ends) + (delay or 0) // speed)
    elif delay is not None:
        due = max(ends) + delay // speed
    else:  # the recorded distance from start to start, never before the end
        due = max(ends + [rows[b]["dispatched_ns"] + call.start // speed - calls[b[1:]].start // speed for b in before])
    assert r["due_ns"] == due, f"{key} was due at {r['due_ns']}, want {due}"

print(f"requests={len(rows)}")
print(f"passes={1 + max(k[0] for k in rows)}")
print(f"dependencies={dependencies}")
print(f"joins={joins}")
print(f"unknown={unknown}")
