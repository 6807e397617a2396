"""OpenMed: full-domain generalization over all combinations of levels, with k and distinct l; suppresses at most a share of the rows."""

import json
import sys

import pandas as pd
from openmed.risk.kanon import enforce_kanon

case, percent = json.load(open(sys.argv[1])), int(sys.argv[3])
columns = [*case["quasi"], case["sensitive"]]
table = pd.read_csv(case["input"], usecols=columns, dtype=str, keep_default_na=False)[columns]
hierarchies = {}
for name in case["quasi"]:
    paths = case["hierarchies"][name]
    levels = [{"name": "0"}]
    for level in range(1, len(paths[0])):
        # It takes labels of lower levels for values, too.
        values = {label: path[level] for path in paths for label in path[:level] if label != "*"}
        levels.append({"name": str(level), "values": values})
    hierarchies[name] = levels
report = enforce_kanon(
    table.to_dict("records"), quasi_identifiers=case["quasi"], sensitive_attributes=[case["sensitive"]],
    target_k=case["k"], target_l=case["p"], suppression_rate=percent / 100, hierarchies=hierarchies,
)
pd.DataFrame(report["records"])[columns].to_csv(sys.argv[2], index=False)
