#!/usr/bin/env python3
"""Measures Throng beside other tools on the same tables, on one core, and holds every release against k and p.

    compare.py --throng target/release/throng --scratch DIR [--wheel FILE] [--case adult] [--rounds 3] [--only NAME ...]

A round runs every tool once, and times are compared within a round. What comes out is added to `DIR/results.jsonl`; the
table that is printed is of all rounds there of this case.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import cases
import contenders
import loss

#: No tool gets more time than this.
MOST_SECONDS = 600


def timed(command):
    """Runs a command on one core: its exit code (none when it ran out of time), seconds, those of the processor, and peak memory in MiB."""
    one_core = {min(os.sched_getaffinity(0))}
    command = [str(part) for part in command]
    with open(os.devnull, "wb") as nothing, open("errors.txt", "w+b") as errors:
        start = time.monotonic()
        process = subprocess.Popen(
            command, stdout=nothing, stderr=errors, preexec_fn=lambda: os.sched_setaffinity(0, one_core))
        while True:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            seconds = time.monotonic() - start
            if ended:
                break
            if seconds > MOST_SECONDS:
                process.kill()
                process.wait()
                return {"code": None, "seconds": seconds}
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            sys.stderr.write(errors.read().decode()[-2000:])
    busy = usage.ru_utime + usage.ru_stime
    return {"code": process.returncode, "seconds": seconds, "cpu": busy, "mib": usage.ru_maxrss / 1024}


def counted(throng, case, table):
    """What `throng verify` finds in a table."""
    command = [throng, "verify", table, "--quasi", ",".join(case.quasi), "--sensitive", case.sensitive,
               "-k", str(cases.K), "-p", str(cases.P)]
    outcome = json.loads(subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[-1])
    return {"satisfied": outcome["satisfied"], "classes": outcome["classes"], "k": outcome["smallest_class"],
            "p": outcome["sensitive"][0]["fewest"]}


def witnessed(scratch, case, table):
    """What pycanon finds in it."""
    command = [contenders.WITNESS.install(scratch), contenders.WITNESS.runner, case.description, table]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def check_shares(throng, case, table, found):
    """Holds what `throng verify` finds of frequencies against pycanon: a policy that asks for exactly that, and for less."""
    policy = table.with_suffix(".verify.toml")
    columns = "".join(f'[columns.{name}]\nrole = "quasi"\nrelease = "ancestor"\n' for name in case.quasi)
    limits = {"max_share": min(1.0, found["alpha"]), "t": min(1.0, found["t"])}
    for name, limit in limits.items():
        for slack, holds in ((1e-6, True), (-1e-3, False)):
            asked = limit + slack
            if not 0 < asked <= 1:
                continue
            policy.write_text(f'version = 1\ninput.location = "in"\noutput.location = "out"\nprivacy = {{ k = 2 }}\n{columns}[columns.{case.sensitive}]\nrole = "sensitive"\n'
                              f"p = 1\n{name} = {asked}\n")
            ran = subprocess.run([throng, "verify", table, "--policy", policy], capture_output=True, text=True)
            outcome = json.loads(ran.stdout.splitlines()[-1])
            if outcome["satisfied"] != holds:
                raise SystemExit(f"{table.stem}: pycanon finds {name} = {limit}, and verify disagrees at {asked}: {outcome}")


def measured(args, case, rows, name):
    """Runs one tool, and looks at what it has released."""
    tool, output = contenders.ALL[name], args.scratch / f"{case.name}-{''.join(filter(str.isalnum, name))}.csv"
    command = tool.command(args.scratch, args.throng, case, output)
    result = {"case": case.name, "name": name, **timed(command)}
    if result["code"] != 0:
        return result
    reported = tool.reported_ncp(args.throng, case, output) if isinstance(tool, contenders.Throng) else None
    with open(output, newline="") as file:
        released = list(csv.DictReader(file))
    result["ncp"], result["suppressed"] = loss.ncp(case, rows, released)
    if reported is not None and abs(reported - result["ncp"]) > 1e-6:
        raise SystemExit(f"{name}: the sidecar has an NCP of {reported}, the evaluator {result['ncp']}")
    result |= counted(args.throng, case, output)
    found = witnessed(args.scratch, case, output)
    if (found["k"], found["l"]) != (result["k"], result["p"]):
        raise SystemExit(f"{name}: verify counts {result['k']} and {result['p']}, pycanon {found}")
    check_shares(args.throng, case, output, found)
    return result


def spread(values, form):
    """A number, or the least and the greatest where rounds differ."""
    least, greatest = form(min(values)), form(max(values))
    return least if least == greatest else f"{least} to {greatest}"


def table(results):
    """What came out in all rounds, as Markdown: the median of seconds and memory, and the range of what may differ."""
    rounds = {}
    for result in results:
        rounds.setdefault(result["name"], {})[result["round"]] = result
    first = rounds.get(contenders.FIRST, {})
    yield f"| tool | rounds | seconds | CPU s | CPU over {contenders.FIRST} | MiB | classes | suppressed | k, p reached | NCP |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for name, by_round in rounds.items():
        done = [result for result in by_round.values() if result["code"] == 0]
        if not done:
            why = "out of time" if all(result["code"] is None for result in by_round.values()) else "failed"
            yield f"| {name} | {len(by_round)} | {why} | | | | | | | |"
            continue
        of = lambda key: [result[key] for result in done]
        # On one core the time of the processor is that of the tool, on a busy machine too.
        over = [r["cpu"] / first[at]["cpu"] for at, r in by_round.items() if at in first and r["code"] == 0]
        ratio = f"{statistics.median(over):.1f} × ({spread(over, '{:.1f}'.format)})" if over else ""
        holds = "" if all(of("satisfied")) else ": **not satisfied**"
        yield (f"| {name} | {len(done)} | {statistics.median(of('seconds')):.2f} | {statistics.median(of('cpu')):.2f} | {ratio} | "
               f"{statistics.median(of('mib')):.0f} | {spread(of('classes'), '{:,}'.format)} | "
               f"{spread(of('suppressed'), '{:,}'.format)} | {min(of('k'))}, {min(of('p'))}{holds} | "
               f"{spread(of('ncp'), '{:.4f}'.format)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--throng", type=Path, required=True, help="a release build")
    parser.add_argument("--scratch", type=Path, required=True, help="where tools, tables and results go")
    parser.add_argument("--wheel", type=Path, help="the package for Python; without it, that is left out")
    parser.add_argument("--case", choices=cases.ALL, default="adult")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=contenders.ALL, default=list(contenders.ALL))
    args = parser.parse_args()
    args.throng, args.scratch = args.throng.resolve(), args.scratch.resolve()
    if args.wheel is None:
        args.only = [name for name in args.only if not isinstance(contenders.ALL[name], contenders.Wheel)]
    else:
        contenders.Wheel.file = args.wheel.resolve(strict=True)
    args.scratch.mkdir(parents=True, exist_ok=True)
    os.chdir(args.scratch)
    case = cases.ALL[args.case](args.scratch, args.throng)
    if case is None:
        raise SystemExit("skipped: the data set is not there")
    case.describe()
    rows, history = case.rows(), args.scratch / "results.jsonl"
    for name in args.only:
        contenders.ALL[name].command(args.scratch, args.throng, case, args.scratch / "unused.csv")
    for _ in range(args.rounds):
        at = time.time()
        for name in args.only:
            result = {**measured(args, case, rows, name), "round": at}
            with open(history, "a") as file:
                file.write(json.dumps(result) + "\n")
            print(f"{name}: {result['seconds']:.2f} s", file=sys.stderr)
    results = [json.loads(line) for line in history.read_text().splitlines()] if history.exists() else []
    print("\n".join(table([result for result in results if result["case"] == case.name])))


if __name__ == "__main__":
    main()
