"""Throng for Python: a frame of pandas in, a frame of pandas out. Verified, and not published."""

import json
import sys

import pandas as pd
import throng_privacy as throng

case = json.load(open(sys.argv[1]))
columns = [*case["quasi"], case["sensitive"]]
table = pd.read_csv(case["input"], usecols=columns)[columns]
lines = {name: {"lines": "".join(";".join(path) + "\n" for path in case["hierarchies"][name])}
         for name in case["quasi"] if name not in case["numbers"]}
release = throng.anonymize(table, k=case["k"], p=case["p"], quasi=case["quasi"], sensitive=[case["sensitive"]],
                           hierarchies=lines, budget=sys.argv[3], threads=1, on_progress=False)
pd.DataFrame.from_arrow(release)[columns].to_csv(sys.argv[2], index=False)
