"""Benchmarks: the promises of Sluice about speed and memory, measured side by side with the common alternatives.

`python -m benchmarks` (`make bench`) runs them; each measure is a module with a `MEASURE` (`benchmarks.figures`).
Members, Spark Thrift Server and raw PySpark are processes of their own, which the measure that needs them starts and
ends. The bars come from the issue that asked for them; `docs/benchmarks.md` has results, with the machine on which they
were taken.
"""
