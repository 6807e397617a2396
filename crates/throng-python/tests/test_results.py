"""Results of the functions, and what they are made of."""

from __future__ import annotations

import json
import tomllib

import polars as pl
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest

import throng_privacy as throng

QUASI = ["age", "region", "sex"]


def test_metrics_are_the_sidecar(census, policy, tmp_path):
    release = throng.anonymize(census, policy)
    metrics = release.metrics
    assert metrics["privacy"]["satisfied"]
    assert metrics["output"] == {"rows": 3000, "files": 0, "bytes": 0, "suppressed_rows": 0}
    assert metrics["utility"]["ncp"] == release.ncp > 0
    metrics["utility"]["ncp"] = 7
    assert release.metrics["utility"]["ncp"] < 1, "a copy"
    written = release.write(tmp_path / "out")
    sidecar = json.loads((tmp_path / "out" / "_throng" / "metrics.json").read_text())
    assert written.metrics == sidecar
    assert written.metrics["utility"] == release.metrics["utility"]
    assert written.to_dict()["outcome"] == "released"
    assert (tmp_path / "out" / "_SUCCESS").exists()
    assert throng.verify(tmp_path / "out", policy).rows == 3000


def test_a_location_that_is_taken_is_not_replaced(census, policy, tmp_path):
    release = throng.anonymize(census, policy)
    release.write(tmp_path / "out")
    with pytest.raises(throng.PolicyError, match="already holds files"):
        release.write(tmp_path / "out")
    release.write(tmp_path / "out", overwrite=True, report=True)
    assert (tmp_path / "out" / "_throng" / "report.html").exists()


def test_data_files_go_to_a_folder_that_polars_reads(census, policy, tmp_path):
    apart = {**policy, "output": {"location": "unused", "data_folder": "data"}}
    release = throng.anonymize(census, apart)
    release.write(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["_SUCCESS", "_throng", "data"]
    assert pl.read_parquet(tmp_path / "out" / "data").height == 3000
    assert throng.verify(tmp_path / "out", apart).rows == 3000


def test_the_report_is_a_page_and_a_fragment(census, policy, tmp_path):
    release = throng.anonymize(census, policy)
    page = release.report(tmp_path / "report.html")
    assert page.startswith("<!doctype html>")
    assert (tmp_path / "report.html").read_text() == page
    fragment = release._repr_html_()
    assert fragment.startswith('<div class="throng-page">')
    assert "<script" not in fragment
    assert "<html" not in fragment
    assert "3,000" in fragment or "3000" in fragment
    assert "Release: 3000 rows in " in repr(release)


def test_risk_is_measured(census):
    risk = throng.risk(census, quasi=QUASI, sensitive=["occupation"])
    groups = pl.DataFrame(census).group_by(QUASI).len()["len"]
    assert (risk.rows, risk.classes, risk.uniques) == (3000, len(groups), int((groups == 1).sum()))
    assert risk.smallest_class == groups.min()
    assert set(risk.columns) == set(QUASI)
    assert risk.to_dict()["sensitive"][0]["column"] == "occupation"
    assert risk.report().startswith("<!doctype html>")
    assert "Risk before release" in risk._repr_html_()
    assert repr(risk).startswith("Risk: ")


def test_a_draft_is_answered_and_used(census):
    draft = throng.draft(census)
    assert (draft.rows, draft.columns) == (3000, census.num_columns)
    paths = [question.path for question in draft.questions]
    assert paths[0] == "privacy.p"
    with pytest.raises(throng.PolicyError):
        throng.anonymize(census, draft)
    assert "columns.name.role" in paths
    answers = {path: 2 if path == "privacy.p" else "identifier" for path in paths if path != "columns.name.role"}
    answered = draft.answer(answers, name="identifier")
    assert answered.questions == []
    release = throng.anonymize(census, answered)
    assert release.rows + release.suppressed_rows == 3000
    with pytest.raises(throng.UsageError, match="no field"):
        draft.answer({"privacy.q": 1})
    assert "open" in repr(draft)
    assert "<table>" in draft._repr_html_()
    assert draft.to_dict()["questions"][0]["path"] == "privacy.p"


def test_a_draft_is_written_to_a_new_file_only(census, tmp_path):
    draft = throng.draft(census)
    draft.write(tmp_path / "policy.toml")
    assert (tmp_path / "policy.toml").read_text() == draft.text
    with pytest.raises(FileExistsError):
        draft.write(tmp_path / "policy.toml")


def test_check_says_whether_and_why_not(census, policy):
    checked = throng.check(census, policy)
    assert checked and checked.feasible and checked.rows == 3000
    assert "person_id" in checked.dropped
    refused = throng.check(census, policy, k=3001)
    assert not refused
    assert refused.shortfalls
    assert "can't be met" in repr(refused)


def test_sweep_tries_all_pairs(census, policy):
    swept = throng.sweep(census, policy, k=[5, 10, 4000], p=[1, 2], loss=0.5)
    assert [(trial.k, trial.p, trial.feasible) for trial in swept.trials] == [
        (5, 1, True),
        (5, 2, True),
        (10, 1, True),
        (10, 2, True),
        (4000, 1, False),
        (4000, 2, False),
    ]
    assert swept.best is not None
    assert swept.best.k == 10
    assert swept.trials[-1].reason
    assert "Risk and loss" in swept._repr_html_()
    assert len(repr(swept).splitlines()) == 7


def test_sweep_measures_errors_of_counts(census, policy):
    swept = throng.sweep(census, policy, k=[5, 4000], p=[1], utility=True)
    measured, refused = swept.trials
    released = throng.anonymize(census, policy, k=5, p=1)
    errors = throng.utility(released, census, policy).to_dict()["count_queries"]
    assert measured.median_query_error == errors["median_error"]
    assert measured.p95_query_error == errors["p95_error"]
    assert (refused.median_query_error, refused.p95_query_error) == (None, None)
    # A stream that can be read once is read once, and kept for the second pass.
    streamed = throng.sweep(pa.table(census).to_reader(), policy, k=[5], p=[1], utility=True).trials[0]
    assert streamed.median_query_error == measured.median_query_error
    assert throng.sweep(census, policy, k=[5], p=[1]).trials[0].median_query_error is None
    assert "Errors of counts" in swept._repr_html_()


def test_a_pair_that_is_no_policy_is_a_trial_with_its_reason(census, policy):
    swept = throng.sweep(census, policy, k=[5], p=[2, 9])
    assert [trial.feasible for trial in swept.trials] == [True, False]
    assert "p" in (swept.trials[1].reason or "")


def test_hierarchies_of_every_form(census, tmp_path):
    regions = sorted(set(census["region"].to_pylist()))
    half = len(regions) // 2
    groups = {"first": regions[:half], "second": regions[half:]}
    levels = [(region, "first" if region in groups["first"] else "second", "*") for region in regions]
    (tmp_path / "region.csv").write_text("".join(";".join(level) + "\n" for level in levels))
    frame = pl.DataFrame(levels, schema=["region", "half", "all"], orient="row")
    forms = [
        groups,
        throng.hierarchy.tree(groups),
        throng.hierarchy.lines(levels),
        throng.hierarchy.paths({region: [half] for region, half, _ in levels}),
        throng.hierarchy.from_csv(tmp_path / "region.csv"),
        tmp_path / "region.csv",
        frame,
        frame.to_pandas(),
        frame.to_arrow(),
    ]
    releases = [
        pa.table(
            throng.anonymize(
                census, k=50, quasi=["region"], sensitive=["occupation"], hierarchies={"region": form}, unlisted="drop"
            )
        )
        for form in forms
    ]
    assert all(release.equals(releases[0]) for release in releases)
    assert throng.check_hierarchy(census, "region", groups) == (len(regions), 0)
    assert throng.check_hierarchy(census, "region", {"first": regions[:half]}) == (len(regions), len(regions) - half)


def test_hierarchies_are_for_all_files_of_a_table(census, tmp_path):
    parts = [tmp_path / "first.parquet", tmp_path / "second.parquet"]
    ages = pa.table({"age": census["age"]})
    pq.write_table(ages.filter(pa.compute.less(ages["age"], 40)), parts[0])
    pq.write_table(ages.filter(pa.compute.greater_equal(ages["age"], 40)), parts[1])
    builder = throng.hierarchy.intervals(5, 10)
    settings = {"threads": 2, "memory_limit": "1GiB"}
    made = throng.make_hierarchy(parts, "age", builder, **settings)
    assert made == throng.make_hierarchy(census, "age", builder)
    assert throng.check_hierarchy(parts, "age", made, **settings) == (len(made["lines"].splitlines()), 0)


def test_a_hierarchy_is_built_for_a_column(census):
    made = throng.make_hierarchy(census, "age", throng.hierarchy.intervals(5, 10))
    assert made["lines"].splitlines()[0].count(";") == 3
    release = throng.anonymize(
        census, k=5, quasi=["age"], hierarchies={"age": throng.hierarchy.intervals(10, 20)}, unlisted="drop"
    )
    assert release.verify().holds


def test_the_same_secret_gives_the_same_release(census, policy):
    first = pa.table(throng.anonymize(census, policy, secret="one secret of this test"))
    again = pa.table(throng.anonymize(census, policy, secret="one secret of this test"))
    other = pa.table(throng.anonymize(census, policy, secret="another secret of the test"))
    assert first.equals(again)
    assert not first.equals(other)
    with pytest.raises(throng.PolicyError, match="secret"):
        throng.anonymize(census, policy, secret="short")


def test_a_census_is_generated_in_memory_and_in_files(tmp_path):
    census = throng.generate_census(1000, tmp_path / "census", files=2)
    assert len(list((tmp_path / "census").glob("*.parquet"))) == 2
    assert pl.read_parquet(tmp_path / "census").equals(pl.DataFrame(census))
    with pytest.raises(throng.PolicyError):
        throng.generate_census(1000, tmp_path / "census")


def test_the_draft_of_a_frame_names_no_location(census, tmp_path):
    pq.write_table(census, tmp_path / "people.parquet")
    of_file, of_frame = throng.draft(tmp_path / "people.parquet"), throng.draft(census)
    assert tomllib.loads(of_file.text)["input"]["location"] == str(tmp_path / "people.parquet")
    assert "input" not in tomllib.loads(of_frame.text)
    assert "# The table was a frame." in of_frame.text
    assert [question.path for question in of_frame.questions] == [question.path for question in of_file.questions]
    answered = of_frame.answer({question.path: 2 if question.path == "privacy.p" else "drop" for question in of_frame.questions})
    with pytest.raises(throng.PolicyError, match="input"):
        throng.anonymize(None, answered)
