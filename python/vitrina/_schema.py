"""The part of JSON schema that options are described in. Vitrina checks options against it when a pipeline is saved."""

from typing import Any, Dict, Mapping

_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
_NUMBERS = ("minimum", "maximum")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
_WORDS = ("title", "description", "default", "examples", "const", "enum")


def check_schema(schema: Any) -> None:
    """Refuses a schema of options that is none, or says more than is checked."""
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise ValueError('it is a dict with "type": "object"')
    _check(schema, "")


def _check(schema: Any, path: str) -> None:
    where = f" at `{path}`" if path else ""
    if not isinstance(schema, Mapping):
        raise ValueError(f"a schema is a dict{where}")
    for key, value in schema.items():
        if key == "type":
            if value not in _TYPES:
                raise ValueError(f"`type`{where} is one of {', '.join(_TYPES)}")
        elif key == "properties":
            if not isinstance(value, Mapping):
                raise ValueError(f"`properties`{where} is a dict")
            for name, property_ in value.items():
                _check(property_, f"{path}.{name}" if path else str(name))
        elif key == "items":
            _check(value, f"{path}[]")
        elif key == "required":
            if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
                raise ValueError(f"`required`{where} is a list of names")
        elif key == "additionalProperties":
            if not isinstance(value, bool):
                raise ValueError(f"`additionalProperties`{where} is True or False")
        elif key in _NUMBERS:
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError(f"`{key}`{where} is a number")
        elif key in _COUNTS:
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"`{key}`{where} is a whole number, 0 or more")
        elif key == "enum":
            if not isinstance(value, (list, tuple)):
                raise ValueError(f"`enum`{where} is a list")
        elif key not in _WORDS:
            raise ValueError(f"`{key}`{where} is not checked here: check it in the step")


def with_defaults(schema: Mapping[str, Any], options: Dict[str, Any]) -> Dict[str, Any]:
    """The options, and the defaults of those that are not given."""
    defaults = {
        name: described["default"]
        for name, described in schema.get("properties", {}).items()
        if "default" in described
    }
    return {**defaults, **options}
