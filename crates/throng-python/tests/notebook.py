"""Cells of a notebook that a test executes."""

CELLS = [
    """
import throng_privacy as throng

census = throng.generate_census(3000, seed=7)
throng.risk(census, quasi=["age", "region", "sex"], sensitive=["occupation"])
""",
    """
throng.draft(census)
""",
    """
policy = throng.policy(k=5, p=2, quasi=["age", "region", "sex"], sensitive=["occupation"], unlisted="drop")
throng.sweep(census, policy, k=[5, 10, 20], loss=0.3)
""",
    """
release = throng.anonymize(census, policy)
release
""",
    """
release.verify()
""",
]
