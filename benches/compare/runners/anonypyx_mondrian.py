"""anonypyx, a fork of anonypy: Mondrian with k-anonymity and distinct l-diversity; categories as sets."""

import json
import sys

import anonypyx
import pandas as pd

case = json.load(open(sys.argv[1]))
columns = [*case["quasi"], case["sensitive"]]
table = pd.read_csv(case["input"], usecols=columns)[columns]
for name in columns:
    if name not in case["numbers"]:
        table[name] = table[name].astype("category")
rows = anonypyx.Anonymiser(
    table, k=case["k"], l=case["p"], algorithm="Mondrian", feature_columns=case["quasi"],
    sensitive_column=case["sensitive"], generalisation_strategy="human-readable",
).anonymise()
rows.loc[rows.index.repeat(rows["count"]), columns].to_csv(sys.argv[2], index=False)
