"""Counts, with DuckDB, what three released tables promise together: arguments are the release, k and p."""

import sys

import duckdb

release, k, p = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
db = duckdb.connect()
TABLES = {
    "people": ("person_id", ["age", "sex", "zip"], "illness"),
    "households": ("person_id", ["rooms", "region"], None),
    "visits": ("patient", ["day", "clinic"], "code"),
}
union = []
for name, (unit, quasi, sensitive) in TABLES.items():
    db.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{release}/{name}/*.parquet')")
    classes = ", ".join(f"coalesce({column}, '(null)')" for column in quasi)
    union.append(f"SELECT {unit} AS person, '{name}: ' || concat_ws('|', {classes}) AS class, "
                 f"{sensitive or 'NULL'} AS value FROM {name} WHERE {unit} IS NOT NULL")
db.execute("CREATE TABLE linked AS " + " UNION ALL ".join(union))
db.execute("""CREATE TABLE profile AS SELECT person, string_agg(class || ' x' || n, ';' ORDER BY class) AS profile
          FROM (SELECT person, class, count(*) AS n FROM linked GROUP BY ALL) GROUP BY person""")

people, profiles, smallest = db.execute("""SELECT sum(n)::BIGINT, count(*), min(n)
    FROM (SELECT count(*) AS n FROM profile GROUP BY profile)""").fetchall()[0]
assert smallest >= k, f"{smallest} people share a profile"
fewest_people, = db.execute("""SELECT min(n) FROM (SELECT count(DISTINCT person) AS n FROM linked JOIN profile USING (person)
    GROUP BY profile, class)""").fetchall()[0]
assert fewest_people >= k, f"{fewest_people} people of a profile in a class"
fewest_values, = db.execute("""SELECT min(n) FROM (SELECT count(DISTINCT value) AS n FROM linked JOIN profile USING (person)
    GROUP BY profile, class HAVING count(value) > 0)""").fetchall()[0]
assert fewest_values >= p, f"{fewest_values} values of a profile in a class"

# The tables join: everybody with a household or a visit is one of the people, and has one row there.
for name in ["households", "visits"]:
    unit = TABLES[name][0]
    rows, joined = db.execute(f"SELECT count(*), count(p.person_id) FROM {name} t LEFT JOIN people p ON p.person_id = t.{unit}").fetchall()[0]
    assert rows == joined > 0, f"{joined} of {rows} rows of {name} join"
twice, = db.execute("SELECT count(*) - count(DISTINCT person_id) FROM people WHERE person_id IS NOT NULL").fetchall()[0]
assert twice == 0, f"{twice} people are joined twice"
print(people, profiles, smallest)
