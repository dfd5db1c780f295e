"""Steps of Vitrina's pipelines in Python.

    import vitrina

    @vitrina.step(columns={"slug": "text"}, per_row=True, pure=True)
    def slug(row):
        "Makes a name for addresses of the title"
        return {"slug": row["title"].lower().replace(" ", "-")}

A worker whose VITRINA_PYTHON_PATH is the directory of this file has the step `slug`. A worker carries this package, so it need
not be installed; installed, it helps editors and tests.
"""

from ._context import Context, context
from ._outcomes import Fatal, Reject, Retry
from ._step import Step, step

__all__ = ["Context", "Fatal", "Reject", "Retry", "Step", "context", "step"]
