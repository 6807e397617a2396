"""anjana: full-domain generalization with k-anonymity and distinct l-diversity, and suppression up to a share of rows."""

import json
import sys

import numpy as np
import pandas as pd
from anjana.anonymity import l_diversity

case = json.load(open(sys.argv[1]))
columns = [*case["quasi"], case["sensitive"]]
table = pd.read_csv(case["input"], usecols=columns, dtype=str)[columns]
hierarchies = {
    name: {level: np.array(labels) for level, labels in enumerate(zip(*paths))}
    for name, paths in case["hierarchies"].items()
}
suppressed = float(sys.argv[3])
rows = l_diversity(table, [], case["quasi"], case["sensitive"], case["k"], case["p"], suppressed, hierarchies)
rows[columns].to_csv(sys.argv[2], index=False)
