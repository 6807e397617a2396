"""crowds: OLA, an optimal full-domain generalization, with k-anonymity alone and up to 5 % of the rows suppressed."""

import json
import sys

import pandas as pd
from crowds.kanonymity.generalizations import GenRule
from crowds.kanonymity.ola import anonymize

case = json.load(open(sys.argv[1]))
columns = [*case["quasi"], case["sensitive"]]
table = pd.read_csv(case["input"], usecols=columns, dtype=str)[columns]


def rule(paths):
    """The levels between leaf and root; the library adds both."""
    levels = list(zip(*paths))
    return GenRule([dict(zip(levels[0], labels)).get for labels in levels[1:-1]])


rules = {name: rule(case["hierarchies"][name]) for name in case["quasi"]}
rows, _ = anonymize(table, generalization_rules=rules, k=case["k"], max_sup=float(sys.argv[3]))
rows[columns].fillna("*").to_csv(sys.argv[2], index=False)
