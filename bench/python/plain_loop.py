"""What people write without Vitrina: a server-side cursor, a change of each row, COPY and an upsert, in batches.

Prints rows and seconds as JSON. The query, the columns and the upsert come from the benchmark, so that both do the same work.
"""

import json
import sys
import time

import psycopg

url, query, columns, on_conflict, mart, size = sys.argv[1:]
names = columns.split(", ")
title = names.index("title")

with psycopg.connect(url) as reading, psycopg.connect(url) as writing:
    writing.execute(f"create temporary table page as select {columns} from {mart} with no data")
    writing.commit()
    begun = time.monotonic()
    count = 0
    with reading.cursor(name="films") as films, writing.cursor() as cursor:
        films.execute(query)
        while rows := films.fetchmany(int(size)):
            with cursor.copy(f"copy page ({columns}) from stdin") as copy:
                for row in rows:
                    row = list(row)
                    row[title] = row[title].strip()
                    copy.write_row(row)
            cursor.execute(f"insert into {mart} as target ({columns}) select {columns} from page {on_conflict}")
            cursor.execute("truncate page")
            writing.commit()
            count += len(rows)
    print(json.dumps({"rows": count, "seconds": time.monotonic() - begun}))
