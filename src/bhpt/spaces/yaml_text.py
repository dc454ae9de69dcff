"""Plain values from YAML text; a module of its own because pyyaml is optional."""

import re

import yaml  # type: ignore[import-untyped,unused-ignore]

_EXPONENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$")
_ADVICE = "close brackets and quotes, put a space behind ':' and ',', indent with spaces alone"


class _Loader(yaml.SafeLoader):  # type: ignore[misc,unused-ignore]
    """PyYAML's safe loader, which also takes `1e-5` for a number as JSON and YAML 1.2 do."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        """The value of a node; what Python refuses, such as a date that is none, has a line too."""
        try:
            made: object = super().construct_object(node, deep)
        except ValueError as error:
            raise yaml.constructor.ConstructorError(
                None, None, str(error), node.start_mark
            ) from None
        return made


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+0123456789."))


def parse_yaml(text: str) -> object:
    """The value that a document holds: dictionaries, lists, texts, numbers.

    Raises:
        ValueError: The text is not valid YAML, or a mapping has a key twice, of which YAML keeps
            the last in silence; one line says where and what to do.
    """
    try:
        _refuse_repeated_keys(yaml.compose(text, Loader=_Loader))
        parsed: object = yaml.load(text, _Loader)  # a safe one
    except yaml.YAMLError as error:
        place, problem = _place(text, error)
        raise ValueError(f"{place} is not valid YAML ({problem}): {_ADVICE}") from None
    return parsed


def _place(text: str, error: yaml.YAMLError) -> tuple[str, str]:
    """Where an error is, and what it is."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return f"line {line}", f"a character #x{error.character:04x}"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}", str(error.problem)
    return "it", str(error).partition("\n")[0]


def _refuse_repeated_keys(root: yaml.Node | None) -> None:
    """Look at every mapping once: aliases make a graph of the nodes, not a tree."""
    todo, seen = [root], set()
    while todo:
        node = todo.pop()
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            _refuse_twice([key for key, _ in node.value if isinstance(key, yaml.ScalarNode)])
            todo += [part for pair in node.value for part in pair]
        else:
            todo += node.value


def _refuse_twice(keys: list[yaml.ScalarNode]) -> None:
    lines: dict[str, int] = {}
    for key in keys:
        line = key.start_mark.line + 1
        if key.value in lines:
            raise ValueError(
                f"line {line}: {key.value!r} is there twice, first in line {lines[key.value]}: "
                "keep one of them"
            )
        lines[key.value] = line
