"""anonypy: Mondrian with k-anonymity and distinct l-diversity; categories as sets. One row for each class and value."""

import json
import sys

import anonypy
import pandas as pd

case = json.load(open(sys.argv[1]))
columns = [*case["quasi"], case["sensitive"]]
table = pd.read_csv(case["input"], usecols=columns)[columns]
for name in columns:
    if name not in case["numbers"]:
        table[name] = table[name].astype("category")
preserver = anonypy.Preserver(table, case["quasi"], case["sensitive"])
rows = pd.DataFrame(preserver.anonymize_l_diversity(k=case["k"], l=case["p"]))
for name in case["quasi"]:
    rows[name] = rows[name].map(lambda shown: shown[0] if isinstance(shown, list) else shown)
rows.loc[rows.index.repeat(rows["count"]), columns].to_csv(sys.argv[2], index=False)
