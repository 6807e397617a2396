"""The table of the report, from the figures."""
import json, sys
from pathlib import Path
fig, thr = Path(sys.argv[1]), Path(sys.argv[2])
print("| table | rows | QIs (numbers + categories) | distinct | ARX H | ARX W | ARX CPU s (best of each) | Throng H | /ARX | Throng W | /ARX | CPU s |")
print("|---|---|---|---|---|---|---|---|---|---|---|---|")
for path in sorted(fig.glob("*.json"), key=lambda p: -json.loads(p.read_text())["rows"]):
    f = json.loads(path.read_text())
    t = json.loads((thr / path.name).read_text()) if (thr / path.name).exists() else {"throng": []}
    ok = [r for r in f["arx"] if "tight" in r]
    if not ok: continue
    h, w = min(ok, key=lambda r: r["tight"]), min(ok, key=lambda r: r["wide"])
    for budget in sorted({r["budget"] for r in t["throng"]}) or ["-"]:
        get = lambda p: next((r for r in t["throng"] if r["policy"] == p and r["budget"] == budget and not r["extra"] and not r.get("failed")), None)
        a, b = get("policy"), get("interval")
        if not a or not b: continue
        print(f"| {path.stem} | {f['rows']} | {len(f['numbers'])}+{len(f['categories'])} | {f['distinct']} | {h['tight']:.4f} | {w['wide']:.4f} | {h['cpu']:.1f} {w['cpu']:.1f} | "
              f"{a['ncp']:.4f} | {a['ncp']/h['tight']:.2f} | {b['ncp']:.4f} | {b['ncp']/w['wide']:.2f} | {budget} {a['cpu']:.1f} {b['cpu']:.1f} |")
