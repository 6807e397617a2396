"""The statements that are measured. Each of them reads all rows and returns one row, so printing costs nothing."""

#: By name; `{people}` is the location of the table.
QUERIES = {
    "aggregate": """
        SELECT count(*), sum(people), max(mean), max(most) FROM (
            SELECT occupation, region, education, count(*) AS people, avg(income) AS mean, max(hours) AS most
            FROM '{people}' GROUP BY occupation, region, education)""",
    "join": """
        SELECT count(*), sum(a.income - b.income), max(a.hours + b.hours)
        FROM '{people}' a JOIN '{people}' b ON a.person_id = b.person_id""",
    "sort": """
        SELECT person_id, income, hours, age FROM '{people}'
        ORDER BY income DESC, occupation, person_id OFFSET 999999""",
    "window": """
        SELECT sum(place), max(mean) FROM (
            SELECT row_number() OVER (PARTITION BY region, occupation ORDER BY income) AS place,
                avg(income) OVER (PARTITION BY region, occupation ORDER BY income) AS mean FROM '{people}')""",
    "distinct": """
        SELECT count(*), max(income), max(hours) FROM (
            SELECT DISTINCT occupation, birth_place, income, hours FROM '{people}')""",
}


def statement(query, people):
    """The text of a query on one line."""
    return " ".join(QUERIES[query].format(people=people).split())
