"""The decorator that registers a function as a step."""

import inspect
import json
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ._schema import check_schema

_MAX_NAME = 63


class Step:
    """A registered function with what it declares."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        description: str,
        columns: Mapping[str, str],
        removes: Sequence[str],
        needs: Sequence[str],
        options: Mapping[str, Any],
        per_row: bool,
        pure: bool,
    ) -> None:
        self.function = function
        self.name = name
        self.description = description
        self.columns: Dict[str, str] = dict(columns)
        self.removes: List[str] = list(removes)
        self.needs: List[str] = list(needs)
        self.options: Dict[str, Any] = dict(options)
        self.per_row = per_row
        self.pure = pure
        self.takes_options = _takes_options(function, name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The function itself: a step can be called and tested like any other."""
        return self.function(*arguments, **named)

    def declaration(self) -> Dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "columns": [[name, type_name] for name, type_name in self.columns.items()],
            "removes": self.removes,
            "needs": self.needs,
            "options_schema": self.options,
            "per_row": self.per_row,
            "pure": self.pure,
        }


registered: Dict[str, Step] = {}


def step(
    *,
    columns: Optional[Mapping[str, str]] = None,
    removes: Sequence[str] = (),
    needs: Sequence[str] = (),
    options: Optional[Mapping[str, Any]] = None,
    per_row: bool = False,
    pure: bool = False,
    name: Optional[str] = None,
    description: Optional[str] = None,
) -> Callable[[Callable[..., Any]], Step]:
    """Registers a function as a step that plans may name.

    columns:      the columns that it adds or changes, with their types as SQL writes them
    removes:      the columns that it takes away
    needs:        further columns that it reads; a plan without them is refused when it is saved
    options:      the JSON schema of the options that a plan gives it, as its second argument
    per_row:      whether it takes one row and returns one, or takes a list of rows and returns a list of the same length
    pure:         whether the same rows always give the same result and nothing else happens; only such a step is executed
                  by previews, replays and comparisons too
    name:         what plans call it; the function's name unless given
    description:  what `GET /transforms` says of it; the first line of the function's documentation unless given
    """

    def register(function: Callable[..., Any]) -> Step:
        documented = (inspect.getdoc(function) or "").strip().split("\n")[0]
        schema = options if options is not None else {"type": "object", "properties": {}}
        made = Step(
            function,
            name if name is not None else function.__name__,
            description if description is not None else documented,
            columns or {},
            removes,
            needs,
            schema,
            per_row,
            pure,
        )
        _check(made)
        if made.name in registered:
            raise ValueError(f"there are two steps of the name `{made.name}`: give one of them another `name`")
        registered[made.name] = made
        return made

    return register


def _takes_options(function: Callable[..., Any], name: str) -> bool:
    parameters = list(inspect.signature(function).parameters.values())
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return True
    positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    needed = [one for one in positional if one.default is one.empty]
    if not positional or len(needed) > 2:
        raise ValueError(f"the step `{name}` takes its rows, and its options where it has any: def {name}(rows, options)")
    return len(positional) > 1


def _check(made: Step) -> None:
    def check_name(what: str, value: Any) -> None:
        if not isinstance(value, str) or not 1 <= len(value.encode()) <= _MAX_NAME or "\0" in value:
            raise ValueError(f"{what} of the step `{made.name}` is a text of 1 to {_MAX_NAME} bytes")

    check_name("the name", made.name)
    for column, type_name in made.columns.items():
        check_name("a column", column)
        if not isinstance(type_name, str) or not type_name.strip():
            raise ValueError(f"the column `{column}` of the step `{made.name}` needs a type, for instance `text`")
    for column in [*made.removes, *made.needs]:
        check_name("a column", column)
    both = set(made.removes) & set(made.columns)
    if both:
        raise ValueError(f"the step `{made.name}` both sets and removes the column `{sorted(both)[0]}`")
    try:
        json.dumps(made.declaration(), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the step `{made.name}` declares what is no JSON: {error}") from None
    try:
        check_schema(made.options)
    except ValueError as error:
        raise ValueError(f"the schema of the options of the step `{made.name}`: {error}") from None
