"""Every formula of "How the method works" names the function that computes it: they exist."""

import importlib
import pkgutil
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import bhpt.beliefs
import bhpt.policies

PAGE = Path(__file__).parents[2] / "docs" / "method.md"
_NAME = re.compile(r"`((?:beliefs\.|policies\.)?[a-z_]+(?:\.[A-Za-z_]+)+)`")
_PACKAGES = {"beliefs": bhpt.beliefs, "policies": bhpt.policies}


def _modules() -> dict[str, str]:
    """Full names of the modules of both packages, by `module` and by `package.module`."""
    found: dict[str, str] = {}
    for short, package in _PACKAGES.items():
        root = f"bhpt.{short}."
        for module in pkgutil.walk_packages(package.__path__, root):
            name = module.name.removeprefix(root)
            found[f"{short}.{name}"] = module.name
            if found.setdefault(name, module.name) != module.name:
                found[name] = ""  # the page has to say which
    return found


def _there(name: str, modules: dict[str, str]) -> bool:
    parts = name.split(".")
    at = max((n for n in range(1, len(parts) + 1) if modules.get(".".join(parts[:n]))), default=0)
    if not at:
        return False
    place: object = importlib.import_module(modules[".".join(parts[:at])])
    for part in parts[at:]:
        known = {field.name for field in fields(place)} if is_dataclass(place) else set()
        if not (hasattr(place, part) or part in known):
            return False
        place = getattr(place, part, None)
    return True


def test_every_function_that_the_page_names_exists() -> None:
    modules = _modules()
    names = sorted(set(_NAME.findall(PAGE.read_text())))
    assert len(names) > 30
    assert [name for name in names if not _there(name, modules)] == []


def test_a_function_that_is_gone_is_noticed() -> None:
    modules = _modules()
    assert _there("policies.bhpt.QValues.spares", modules)
    assert not _there("policies.bhpt.QValues.spared_units", modules)
    assert not _there("looks_that_pay.price", modules)
