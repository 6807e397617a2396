"""pycanon: counts a table, as a witness that shares no code with any tool that is measured."""

import json
import sys

import pandas as pd
from pycanon import anonymity

case = json.load(open(sys.argv[1]))
table = pd.read_csv(sys.argv[2], dtype=str, keep_default_na=False)
quasi, sensitive = case["quasi"], [case["sensitive"]]
alpha, k = anonymity.alpha_k_anonymity(table, quasi, sensitive)
print(json.dumps({
    "k": int(k), "l": int(anonymity.l_diversity(table, quasi, sensitive)), "alpha": float(alpha),
    "t": float(anonymity.t_closeness(table, quasi, sensitive)),
}))
