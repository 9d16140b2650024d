"""Tables that others keep: Delta and Iceberg tables, read as lists of Parquet files that their logs name.

A table format answers two questions: which columns there are, and which files belong to a version. Its library answers both
(`deltalake`, `pyiceberg`); everything after that is this project's own reading of Parquet, on either engine, over any number of
members, with the same pruning. Of Delta's deletion vectors the library gives the rows, and the readers leave these out
(`Table.deleted`). Whatever else would make rows other than the files have them (Iceberg's delete files, types that were widened,
columns that were renamed in a way that files do not tell) is refused by name, never passed over.

A statement sees one version of each table (`engine.session.session`): which one is the newest is asked once.

| module | what |
|---|---|
| `state` | what a format says of one version: columns, files |
| `delta` | Delta's log |
| `iceberg` | Iceberg's metadata, and the catalogs that know it |
| `tables` | a foreign table of such a format as it is now, or was |
| `stores` | object stores, where tables and files may lie too |
| `csv_headers` | whether CSV files have their columns by place or by name |
| `file_columns` | what the files of a table have in common, and what only some of them have |

Rejected: the formats' own scans (`DeltaTable.to_pyarrow_dataset`, pyiceberg's `to_arrow`): they read in Python, in one process,
and know neither Spark nor members. DuckDB's extensions for both: they are downloaded from the internet when they are first used.
"""
