"""Recipes that no cluster is at hand for: what can be known of them without one."""

import re
import shlex
import subprocess
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped,unused-ignore]

from bhpt.cli.deferred import load_command
from tests.docs.blocks import ROOT

_PAGE = (ROOT / "docs" / "cluster.md").read_text()
_TUNE = "bhpt.cli.tune:tune"


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", _PAGE, re.DOTALL)


def _manifests() -> list[dict[str, Any]]:
    return [one for block in _blocks("yaml") for one in yaml.safe_load_all(block)]


def _batch_script() -> str:
    [script] = [block for block in _blocks("sh") if "#SBATCH" in block]
    return script


def test_there_is_all_that_a_cluster_needs() -> None:
    kinds = [(one["kind"], one["metadata"]["name"]) for one in _manifests()]
    assert kinds == [
        ("Service", "ray-head"),
        ("Deployment", "ray-head"),
        ("Deployment", "ray-node"),
        ("Job", "tune-net"),
    ]


@pytest.mark.parametrize(
    "manifest", _manifests(), ids=lambda one: f"{one['kind']}-{one['metadata']['name']}"
)
def test_manifests_follow_the_published_schema(manifest: dict[str, Any]) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="needs kubernetes-validate")
    validator.validate(manifest, validator.latest_version(), strict=True)
    broken = {**manifest, "spec": {**manifest["spec"], "no such field": 1}}
    with pytest.raises(validator.ValidationError):
        validator.validate(broken, validator.latest_version(), strict=True)


def test_every_pod_is_found_by_its_selector() -> None:
    by_name = {(one["kind"], one["metadata"]["name"]): one["spec"] for one in _manifests()}
    for (kind, _), spec in by_name.items():
        if kind == "Deployment":
            assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    head = by_name["Deployment", "ray-head"]["template"]["metadata"]["labels"]
    assert by_name["Service", "ray-head"]["selector"] == head


def test_the_driver_of_the_job_is_a_command_of_ours() -> None:
    [job] = [one for one in _manifests() if one["kind"] == "Job"]
    [driver] = job["spec"]["template"]["spec"]["containers"]
    command, *words = driver["args"]
    assert command == "tune"
    asked = load_command(_TUNE).make_context("tune", words).params
    service = next(one for one in _manifests() if one["kind"] == "Service")
    port = service["spec"]["ports"][0]["port"]
    assert asked["address"] == f"{service['metadata']['name']}:{port}"
    assert asked["study"].startswith("postgresql://")


def test_the_batch_script_is_a_script_with_a_command_of_ours() -> None:
    script = _batch_script()
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    [line] = re.findall(r"^bhpt tune (.*)$", script.replace("\\\n", " "), re.MULTILINE)
    asked = load_command(_TUNE).make_context("tune", shlex.split(line)).params
    assert asked["shared_files"]
    assert asked["if_exists"] == "resume"


def test_the_image_installs_extras_that_exist() -> None:
    [recipe] = _blocks("dockerfile")
    [extras] = re.findall(r"/src/bhpt\[([\w,]+)\]", recipe)
    project = (ROOT / "pyproject.toml").read_text()
    missing = [one for one in extras.split(",") if not re.search(rf"^{one} = \[", project, re.M)]
    assert not missing
