"""Loads what reduce exported for AIPerf with AIPerf's own classes.

Usage: exported.py DIR..., each of which holds profile_export.jsonl and
profile_export_aiperf.json. Prints lines of folder_key=value, by the last name of DIR.
"""
import json
import sys
from pathlib import Path

import numpy as np
from aiperf.analysis.swim_lane import _load_records
from aiperf.common.models.export_models import JsonExportData, JsonMetricResult
from aiperf.common.models.record_models import MetricRecordInfo
from aiperf.plot.core.data_loader import DataLoader

for d in map(Path, sys.argv[1:]):
    text = (d / "profile_export_aiperf.json").read_text()
    data = JsonExportData.model_validate_json(text)
    assert data.schema_version == JsonExportData.SCHEMA_VERSION, data.schema_version
    records = [MetricRecordInfo.model_validate_json(l) for l in open(d / "profile_export.jsonl")]
    run = DataLoader().load_run(d)
    print(f"{d.name}_records={len(records)}")
    print(f"{d.name}_frame={len(run.requests)}")
    print(f"{d.name}_lanes={len(_load_records(d / 'profile_export.jsonl'))}")
    print(f"{d.name}_failed={sum(r.error is not None for r in records)}")

    # Every distribution of the summary, from the lines and numpy.
    cells = 0
    valid = [r for r in records if r.error is None and r.metadata.benchmark_phase == "profiling"]
    for tag, m in JsonMetricResult.project_summary_dict(json.loads(text)).items():
        if m.count is None:
            continue
        x = []
        for r in valid:
            if tag in r.metrics:
                v = r.metrics[tag].value
                x += v if isinstance(v, list) else [v]
                assert r.metrics[tag].unit == m.unit, tag
        x = np.array(x, dtype=float)
        want = {"avg": x.mean(), "min": x.min(), "max": x.max(), "std": x.std(), "sum": x.sum(), "count": len(x)}
        for q in (1, 5, 10, 25, 50, 75, 90, 95, 99):
            want[f"p{q}"] = np.percentile(x, q)
        for k, v in want.items():
            got = getattr(m, k)
            assert np.isclose(got, v, rtol=1e-9, atol=1e-7), (tag, k, got, v)
            cells += 1
    print(f"{d.name}_cells={cells}")
