"""privacy-preserver: Mondrian with k-anonymity and distinct l-diversity; categories as sets, numbers to multiples of 5."""

import json
import sys

import pandas as pd
from preserver.mondrian_preserver import Preserver

case = json.load(open(sys.argv[1]))
columns = [*case["quasi"], case["sensitive"]]
table = pd.read_csv(case["input"], usecols=columns)[columns]
categorical = {name for name in columns if name not in case["numbers"]}
rows = Preserver.l_diversity(table, case["k"], case["p"], case["quasi"], case["sensitive"], categorical, None)
rows.loc[rows.index.repeat(rows["count"]), columns].to_csv(sys.argv[2], index=False)
