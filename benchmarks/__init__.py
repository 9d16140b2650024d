"""Benchmarks: what Sluice promises about speed and memory, measured side by side with what people have today.

`python -m benchmarks` (`make bench`) runs them; one module a measure, each with a `MEASURE` (`benchmarks.figures`). Members,
Spark Thrift Server and raw PySpark are processes of their own, started and ended by the measure that needs them. The source
of the bars is the issue that asked for them; `docs/benchmarks.md` holds results, with the machine they come from.
"""
