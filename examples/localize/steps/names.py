"""Names as we want them before they are translated, and for addresses after it."""

import re
import unicodedata

import vitrina

OPTIONS = {
    "type": "object",
    "properties": {"longest": {"type": "integer", "minimum": 1, "maximum": 500, "default": 60}},
}


@vitrina.step(columns={"original": "text"}, needs=["original"], options=OPTIONS, per_row=True, pure=True)
def normalize(row, options):
    """Removes needless white space and begins with a capital letter; a name without letters is rejected"""
    name = " ".join(unicodedata.normalize("NFC", row["original"]).split())
    if not any(letter.isalpha() for letter in name):
        raise vitrina.Reject("the name has no letters")
    if len(name) > options["longest"]:
        raise vitrina.Reject(f"the name has more than {options['longest']} letters")
    return {"original": name[0].upper() + name[1:]}


@vitrina.step(columns={"slug": "text"}, needs=["name"], per_row=True, pure=True)
def slug(row):
    """Makes a name for addresses of the name"""
    return {"slug": re.sub(r"[^\w]+", "-", row["name"].lower()).strip("-")}
