"""Synthetic lakes and their ground truth (sections 6.1.1 and 6.2), for demo, tests and benchmarks.

Start reading at `lake.generate_lake`: roots become tables, tables become other tables by `transform` steps.
`truth` then finds the containments, without knowing how the lake was made.
"""

from r2d2.synthetic.draw import DEFAULT_MIX
from r2d2.synthetic.lake import generate_lake
from r2d2.synthetic.layout import Layout
from r2d2.synthetic.lineage import GeneratedLake, GeneratedTable
from r2d2.synthetic.oracle.truth import TrueEdge, brute_force_edges, lake_truth, write_truth
from r2d2.synthetic.oracle.truth_rows import TableRows, find_tables, read_rows, rows_of

__all__ = [
    "DEFAULT_MIX",
    "GeneratedLake",
    "GeneratedTable",
    "Layout",
    "TableRows",
    "TrueEdge",
    "brute_force_edges",
    "find_tables",
    "generate_lake",
    "lake_truth",
    "read_rows",
    "rows_of",
    "write_truth",
]
