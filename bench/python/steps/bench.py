"""The step that is measured, over blocks and row by row."""

import vitrina


@vitrina.step(columns={"title": "text"}, pure=True)
def strip_block(rows):
    """Removes white space around titles, over blocks"""
    for row in rows:
        row["title"] = row["title"].strip()
    return rows


@vitrina.step(columns={"title": "text"}, per_row=True, pure=True)
def strip_row(row):
    """Removes white space around titles, row by row"""
    row["title"] = row["title"].strip()
    return row
