"""The tables that every tool gets: the same file, the same quasi-identifiers, the same hierarchies, the same k and p."""

import csv
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
K, P = 10, 3


class Case:
    """A table as CSV, the policy that Throng reads it with, and what other tools need to know of it."""

    def __init__(self, name, folder, quasi, numbers, sensitive, trees):
        self.name, self.folder = name, folder
        self.quasi, self.numbers, self.sensitive, self.trees = quasi, numbers, sensitive, trees
        self.input = folder / f"{name}.csv"
        self.description = folder / f"{name}.json"

    def rows(self):
        with open(self.input, newline="") as file:
            return list(csv.DictReader(file))

    def describe(self):
        """Writes down what the runners in `tools/` read; numbers get the intervals that ARX publishes for an age."""
        hierarchies = dict(self.trees)
        for name in self.numbers:
            values = sorted({int(row[name]) for row in self.rows()})
            hierarchies[name] = [[str(value), *bands(value), "*"] for value in values]
        self.description.write_text(json.dumps({
            "input": str(self.input), "k": K, "p": P, "quasi": self.quasi, "numbers": self.numbers,
            "sensitive": self.sensitive, "hierarchies": hierarchies,
        }))

    def policy(self, shows):
        """A policy like `configs/adult.toml`, with categories shown as an `ancestor` or a `set`."""
        lines = ["version = 1", f"privacy = {{ k = {K}, p = {P} }}", 'columns.default = "drop"']
        for name in self.quasi:
            lines += [f"[columns.{name}]", 'role = "quasi"']
            if name in self.trees:
                path = self.folder / f"{self.name}-{name}-tree.csv"
                path.write_text("".join(";".join(labels) + "\n" for labels in self.trees[name]))
                lines += [f'release = "{shows}"', f'hierarchy = "{path}"']
        return "\n".join([*lines, f"[columns.{self.sensitive}]", 'role = "sensitive"']) + "\n"


def bands(value):
    return [f"{value // width * width}-{value // width * width + width - 1}" for width in (5, 10, 20)]


def tree(path):
    """A hierarchy file as a list of paths from leaf to root."""
    return [line.replace(",", "").split(";") for line in path.read_text().splitlines() if line]


def adult(folder, throng):
    """The first 30,162 rows of Adult, with the columns and hierarchies of `configs/adult.toml`."""
    source = ROOT.parent / "shared" / "data" / "adult.csv"
    if not source.exists():
        return None
    categories = ["workclass", "marital-status", "race", "sex", "native-country"]
    trees = {name: tree(ROOT / "configs/hierarchies/adult" / f"{name}.csv") for name in categories}
    case = Case("adult", folder, ["age", *categories], ["age"], "occupation", trees)
    case.input.write_text("".join(source.read_text().splitlines(keepends=True)[:30_163]))
    return case


def census(folder, throng):
    """100,000 people of `throng generate census`. Commas in values become spaces: two tools write sets with commas."""
    made = folder / "generated"
    if not made.exists():
        subprocess.run([throng, "generate", "census", "--rows", "100000", "-o", made], check=True, capture_output=True)
    columns = ["age", "sex", "marital_status", "race", "birth_place", "occupation"]
    question = f"SELECT {', '.join(columns)} FROM '{made}'"
    table = subprocess.run([throng, "sql", "--format", "csv", "-c", question], check=True, capture_output=True, text=True)
    marital = {"Single": ["Never married"], "Married": ["Married spouse present", "Married spouse absent"],
               "Formerly married": ["Separated", "Divorced", "Widowed"]}
    trees = {
        "sex": [["Male", "*"], ["Female", "*"]],
        "marital_status": [[leaf, group, "*"] for group, leaves in marital.items() for leaf in leaves],
        "race": tree(ROOT / "configs/hierarchies/census/race.csv"),
        "birth_place": tree(ROOT / "configs/hierarchies/census/birth_place.csv"),
    }
    case = Case("census", folder, columns[:-1], ["age"], "occupation", trees)
    with open(case.input, "w", newline="") as file:
        out = csv.writer(file)
        out.writerows([value.replace(",", "") for value in row] for row in csv.reader(table.stdout.splitlines()))
    return case



ALL = {"adult": adult, "census": census}
