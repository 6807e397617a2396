"""A notebook, executed, and its results in a browser."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import nbclient
import nbformat
import pytest

from notebook import CELLS

# What notebooks have for all tables and lists, as JupyterLab does.
STYLES_OF_THE_HOST = """
    .host table { table-layout: fixed; width: auto; margin-left: auto; margin-right: auto; border: none; }
    .host td, .host th, .host tr { text-align: right; vertical-align: middle; padding: 0.5em; border: none; white-space: normal; }
    .host tbody tr:nth-child(even) { background: grey; }
    .host dl { display: block; } .host dt { float: left; width: 20%; font-weight: bold; } .host dd { margin-left: 20%; }
    .host h1, .host h2 { margin: 7px; font-size: 40px; } .host p { line-height: 3; } .host figure { display: inline-block; }
"""

# The styles of every element, and the place of every part of a drawing.
COMPUTED = """
    const found = [...document.querySelectorAll(".throng-page, .throng-page *:not(style)")].map((element) => {
        const style = getComputedStyle(element), box = element.getBoundingClientRect();
        return [element.tagName, [...style].filter((name) => !name.startsWith("--")).map((name) => name + ": " + style.getPropertyValue(name)).join("; "), box.width, box.height];
    });
    document.body.textContent = "found:" + JSON.stringify(found) + ":end";
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """The notebook, executed."""
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(folder))
        patch.setenv("JUPYTER_PLATFORM_DIRS", "1")
        made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in CELLS])
        nbclient.NotebookClient(made, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return made


def test_results_are_shown_as_pages(notebook):
    shown = [_html(cell) for cell in notebook.cells]
    for page, title in zip(shown, ("Risk before release", "Open questions", "Risk and loss", "Release report"), strict=False):
        assert title in page, page[:300]
        assert "<script" not in page
        assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "Verification: the promise holds" in notebook.cells[4].outputs[-1]["data"]["text/plain"]
    if folder := os.environ.get("THRONG_KEEP_NOTEBOOK"):
        Path(folder, "notebook.ipynb").write_text(nbformat.writes(notebook))
        pages = "".join(f"<pre>{cell.strip()}</pre>{page}" for cell, page in zip(CELLS, shown, strict=True))
        Path(folder, "notebook.html").write_text(f"<!doctype html><meta charset=utf-8><body>{pages}")


def test_nothing_is_left_of_the_bar(notebook):
    for cell in notebook.cells:
        for output in cell.outputs:
            assert output["output_type"] in ("execute_result", "display_data"), output
            if output["output_type"] == "display_data":
                assert output["data"] == {"text/plain": ""}


def test_pages_look_the_same_whatever_the_styles_of_the_notebook(notebook, tmp_path):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("there is no Chromium")

    def computed(page: str, styles: str) -> list[object]:
        path = tmp_path / "page.html"
        path.write_text(
            f"<!doctype html><html lang=en><meta charset=utf-8><style>{styles}</style>"
            f"<body><div class=host style='width: 800px'>{page}</div><script>{COMPUTED}</script>"
        )
        line = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri()]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=True)
        (found,) = re.findall("found:(.*):end", done.stdout)
        return json.loads(html.unescape(found))

    for cell in (notebook.cells[0], notebook.cells[2], notebook.cells[3]):
        alone = computed(_html(cell), "")
        assert len(alone) > 50
        for own, beside in zip(alone, computed(_html(cell), STYLES_OF_THE_HOST), strict=True):
            assert beside == own


def _html(cell: nbformat.NotebookNode) -> str:
    results = [output for output in cell.outputs if output["output_type"] == "execute_result"]
    return results[-1]["data"].get("text/html", "") if results else ""
