import pyarrow.parquet as pq
import throng_privacy as throng

release = throng.anonymize(
    "people.parquet",
    k=5,
    p=2,
    quasi={"age": {"release": "bounds"}, "zip": {}},
    sensitive=["diagnosis"],
    identifiers=["name"],
)
release.write("released")

described = {field.name: field.metadata or {} for field in pq.read_schema("released/part-00000.parquet")}
for name, metadata in described.items():
    print(name, metadata[b"throng.role"].decode(), metadata[b"throng.form"].decode())

bounds = [name for name, metadata in described.items() if metadata.get(b"throng.column") == b"age"]
assert bounds == ["age_min", "age_max"]
