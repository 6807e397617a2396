"""A notebook, executed."""

from __future__ import annotations

import os
from pathlib import Path

import nbclient
import nbformat

from notebook import CELLS


def test_results_are_shown_as_pages(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in CELLS])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
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


def _html(cell: nbformat.NotebookNode) -> str:
    results = [output for output in cell.outputs if output["output_type"] == "execute_result"]
    return results[-1]["data"].get("text/html", "") if results else ""
