"""pycanon: counts k and l of a table, as a witness that shares no code with any tool that is measured."""

import json
import sys

import pandas as pd
from pycanon import anonymity

case = json.load(open(sys.argv[1]))
table = pd.read_csv(sys.argv[2], dtype=str, keep_default_na=False)
k = anonymity.k_anonymity(table, case["quasi"])
l = anonymity.l_diversity(table, case["quasi"], [case["sensitive"]])
print(json.dumps({"k": int(k), "l": int(l)}))
