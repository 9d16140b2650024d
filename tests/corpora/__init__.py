"""Statement corpora of other projects, run on both engines and on PostgreSQL 15 and compared one by one.

    make corpora                                        PostgreSQL's regression tests, fetched as Debian's source package
    make corpora CORPORA='regress FOLDER FILE ...'      and files that are given by path
    make corpora CORPORA='FOLDER --engines local'       on one engine

`psql_script` reads `.sql` files, `sqllogictest` reads `.test`, `.slt` and `.slt.part` files (also compressed with xz).
The results that such files expect are not read: PostgreSQL's answer is the expected one. `regress` fetches PostgreSQL's
own tests, `comparison` runs a file on two servers and counts, `page` writes the table. The repository contains none of
these corpora: they and the results are below `build/corpora`.
"""
