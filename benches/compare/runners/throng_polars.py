"""Throng for Python: a frame of polars in, a frame of polars out. Verified, and not published."""

import json
import sys

import polars as pl
import throng_privacy as throng

case = json.load(open(sys.argv[1]))
columns = [*case["quasi"], case["sensitive"]]
table = pl.read_csv(case["input"], columns=columns).select(columns)
lines = {name: {"lines": "".join(";".join(path) + "\n" for path in case["hierarchies"][name])}
         for name in case["quasi"] if name not in case["numbers"]}
release = throng.anonymize(table, k=case["k"], p=case["p"], quasi=case["quasi"], sensitive=[case["sensitive"]],
                           hierarchies=lines, budget=sys.argv[3], threads=1, on_progress=False)
pl.DataFrame(release).select(columns).write_csv(sys.argv[2])
