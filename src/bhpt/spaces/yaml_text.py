"""Plain values from YAML text; a module of its own because pyyaml is optional."""

import re

import yaml  # type: ignore[import-untyped,unused-ignore]

from bhpt.spaces.short_form import refuse_twice

NotYaml = yaml.YAMLError
_EXPONENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$")


class _Loader(yaml.SafeLoader):  # type: ignore[misc,unused-ignore]
    """PyYAML's safe loader, which also takes `1e-5` for a number as JSON and YAML 1.2 do."""


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+0123456789."))


def parse_yaml(text: str) -> object:
    """The value that a document holds: dictionaries, lists, texts, numbers.

    Raises:
        NotYaml: The text is not valid YAML.
        ValueError: A mapping has a key twice, of which YAML keeps the last in silence.
    """
    _refuse_repeated_keys(yaml.compose(text, Loader=_Loader))
    parsed: object = yaml.load(text, _Loader)  # a safe one
    return parsed


def _refuse_repeated_keys(root: yaml.Node | None) -> None:
    """Look at every mapping once: aliases make a graph of the nodes, not a tree."""
    todo, seen = [root], set()
    while todo:
        node = todo.pop()
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            refuse_twice(keys)
            todo += [part for pair in node.value for part in pair]
        else:
            todo += node.value
