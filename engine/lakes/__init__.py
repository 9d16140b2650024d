"""Tables that others keep: Delta and Iceberg tables, read as lists of Parquet files that their logs name.

A table format answers two questions: which columns there are, and which files belong to a version. The format's library
answers both (`deltalake`, `pyiceberg`). Everything after that is Sluice's own reading of Parquet, on either engine,
over any number of members, with the same pruning. For Delta's deletion vectors the library returns the deleted rows,
and the readers skip them (`Table.deleted`). Any other feature that makes the table's rows differ from those of the
files (Iceberg's delete files, widened types, renamed columns that the files do not identify) is refused by name, never
ignored.

A statement sees one version of each table (`engine.session.session`): the newest version is determined once.

| module | what |
|---|---|
| `state` | one version as its format describes it: columns, files |
| `delta` | Delta's log |
| `iceberg` | Iceberg's metadata, and the catalogs that list it |
| `tables` | a foreign table of such a format as it is now, or was |
| `stores` | object stores, where tables and files may lie too |
| `csv_headers` | whether CSV files have their columns by position or by name |
| `file_columns` | the columns that all files of a table have, and those that only some have |

Rejected: the formats' own scans (`DeltaTable.to_pyarrow_dataset`, pyiceberg's `to_arrow`): they read in Python, in one
process, and know neither Spark nor members. DuckDB's extensions for both: they are downloaded from the internet when
they are first used.
"""
