"""Who is measured: Throng, and tools of the Python package index, each with a pinned version in an environment of its own."""

import json
import subprocess
import venv
from pathlib import Path

RUNNERS = Path(__file__).resolve().parent / "runners"


class Other:
    """A package, and the script in `runners/` that calls it: a table in, a table out."""

    def __init__(self, package, version, runner, *arguments, needs=()):
        self.package, self.version, self.runner = package, version, RUNNERS / runner
        self.arguments, self.needs = arguments, needs

    def install(self, scratch):
        """The Python of its environment."""
        home = scratch / "environments" / f"{self.package}-{self.version}"
        python, done = home / "bin" / "python", home / "installed"
        if not done.exists():
            venv.create(home, with_pip=True)
            packages = [f"{self.package}=={self.version}", *self.needs]
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
            done.touch()
        return python

    def command(self, scratch, throng, case, output):
        return [self.install(scratch), self.runner, case.description, output, *self.arguments]


class Throng:
    """Throng itself: what is timed reads, anonymizes, writes, reads back, verifies and publishes."""

    def __init__(self, budget, shows="ancestor"):
        self.budget, self.shows = budget, shows

    def command(self, scratch, throng, case, output):
        policy = scratch / f"{case.name}-{self.shows}.toml"
        policy.write_text(case.policy(self.shows))
        return [throng, "run", policy, "--input", case.input, "--output", folder(output), "--overwrite",
                "--budget", self.budget, "--threads", "1"]

    @staticmethod
    def reported_ncp(throng, case, output):
        """Writes its release as CSV like those of the others; returns the NCP of its sidecar."""
        columns = ", ".join(f'"{name}"' for name in [*case.quasi, case.sensitive])
        question = f"SELECT {columns} FROM '{folder(output)}'"
        with open(output, "wb") as file:
            subprocess.run([throng, "sql", "--format", "csv", "-c", question], check=True, stdout=file)
        return json.loads((folder(output) / "_throng" / "metrics.json").read_text())["utility"]["ncp"]


def folder(output):
    return output.with_suffix(".release")


class Wheel(Other):
    """The package of Throng for Python: from a frame in memory to one, in the process of the reader. `--wheel` has the file."""

    file = None

    def __init__(self, runner, budget, needs):
        super().__init__("throng-privacy", "wheel", runner, budget, needs=needs)

    def install(self, scratch):
        """The Python of its environment, which has the wheel as it is now."""
        if self.file is None:
            raise SystemExit("name the wheel: --wheel target/wheels/throng_privacy-....whl")
        home = scratch / "environments" / f"{self.package}-{self.runner.stem}"
        python, done = home / "bin" / "python", home / "installed"
        stamp = f"{self.file} {self.file.stat().st_mtime_ns}"
        if not done.exists() or done.read_text() != stamp:
            venv.create(home, with_pip=True)
            install = [python, "-m", "pip", "install", "--quiet"]
            subprocess.run([*install, *self.needs], check=True)
            subprocess.run([*install, "--force-reinstall", "--no-deps", self.file], check=True)
            done.write_text(stamp)
        return python


PANDAS = ("pandas==2.3.3",)
ALL = {
    "Throng, balanced": Throng("balanced"),
    "Throng, fast": Throng("fast"),
    "Throng, balanced, sets": Throng("balanced", "set"),
    "Throng for Python, pandas": Wheel("throng_pandas.py", "balanced", ("pandas==3.1.1", "pyarrow==26.0.1")),
    "Throng for Python, polars": Wheel("throng_polars.py", "balanced", ("polars==2.1.0",)),
    "anonypy": Other("anonypy", "0.2.1", "anonypy_mondrian.py", needs=PANDAS),
    "anonypyx": Other("anonypyx", "0.2.11", "anonypyx_mondrian.py", needs=PANDAS),
    "privacy-preserver": Other("privacy-preserver", "1.0.1", "preserver_mondrian.py", needs=PANDAS),
    "anjana": Other("anjana", "1.2.3", "anjana_full_domain.py", "0"),
    "anjana, up to 5 % suppressed": Other("anjana", "1.2.3", "anjana_full_domain.py", "5"),
    "OpenMed, up to 5 % suppressed": Other("openmed", "3.1.0", "openmed_full_domain.py", "5", needs=PANDAS),
    "crowds, k alone, up to 5 % suppressed": Other("crowds", "0.0.1", "crowds_ola.py", "5", needs=PANDAS),
}
#: Times are given as multiples of this one's in the same round.
FIRST = "Throng, balanced"
#: Counts k and l of every release with code that is not ours.
WITNESS = Other("pycanon", "1.3.6", "pycanon_count.py")
