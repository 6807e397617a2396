"""Runs one statement several times with the DataFusion wheel: wheel.py STATEMENT THREADS TIMES.

Prints one line of JSON per execution: seconds of wall time, seconds of CPU time of the process, and the row.
"""

import json
import sys
import time

from datafusion import SessionConfig, SessionContext


def main():
    statement, threads, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    context = SessionContext(SessionConfig().with_target_partitions(threads)).enable_url_table()
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        batches = context.sql(statement).collect()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        rows = [list(row.values()) for batch in batches for row in batch.to_pylist()]
        print(json.dumps({"wall": wall, "cpu": cpu, "rows": rows}), flush=True)


main()
