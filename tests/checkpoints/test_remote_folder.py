"""What can go wrong between here and there."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.checkpoints import CheckpointStore, Draft, Generation, PlaceAway, RemoteFolder
from bhpt.checkpoints.remote_folder import refuse_bad_url
from bhpt.domain.errors import Misuse

ONE = Generation(3, 1)


@pytest.fixture
def url() -> str:
    return f"memory://bucket/{uuid.uuid4().hex}"


def place_at(url: str, near: Path, identity: str = "me") -> RemoteFolder:
    return RemoteFolder(url, near, identity, patience_s=1.0, sleep=lambda _: None)


def filled(url: str, near: Path, text: str = "weights") -> tuple[RemoteFolder, str]:
    place = place_at(url, near)
    place.contents()
    (place.begin(Draft(3, 7)) / "net").write_text(text)
    return place, place.commit(Draft(3, 7), ONE).digest


def objects(url: str) -> list[str]:
    return sorted(fsspec.filesystem("memory").find(url.removeprefix("memory:/")))


def test_another_machine_finds_what_was_committed(url: str, tmp_path: Path) -> None:
    _, digest = filled(url, tmp_path / "here")
    other = place_at(url, tmp_path / "there")
    assert other.contents() == {ONE}
    assert (other.fetch(ONE, digest) / "net").read_text() == "weights"


def test_another_study_is_refused_and_nothing_of_it_is_touched(url: str, tmp_path: Path) -> None:
    filled(url, tmp_path / "here")
    before = objects(url)
    with pytest.raises(Misuse, match="not known to be this study's"):
        place_at(url, tmp_path / "there", "somebody").contents()
    assert objects(url) == before
    fsspec.filesystem("memory").rm_file(f"{url}/study.json")
    with pytest.raises(Misuse, match="not known to be this study's"):
        place_at(url, tmp_path / "there").contents()


def test_a_damaged_copy_is_fetched_again(url: str, tmp_path: Path) -> None:
    place, digest = filled(url, tmp_path / "here")
    (place.fetch(ONE) / "net").write_text("WEIGHTS")
    assert (place.fetch(ONE, digest) / "net").read_text() == "weights"


@pytest.mark.parametrize("name", ["files/net", "manifest.json"])
def test_damage_there_is_found_out_and_the_copy_here_still_counts(
    url: str, tmp_path: Path, name: str
) -> None:
    place, digest = filled(url, tmp_path / "here")
    fsspec.filesystem("memory").pipe_file(f"{url}/arm-000003/gen-000001/{name}", b"{}")
    with pytest.raises(ValueError, match=r"changed|study's log"):
        place_at(url, tmp_path / "there").fetch(ONE, digest)
    assert not (tmp_path / "there" / "arm-000003" / "gen-000001").exists()
    assert (place.fetch(ONE, digest) / "net").read_text() == "weights"


def test_an_upload_that_was_cut_off_counts_for_nothing(url: str, tmp_path: Path) -> None:
    filled(url, tmp_path / "here")
    fsspec.filesystem("memory").rm_file(f"{url}/arm-000003/gen-000001/manifest.json")
    assert place_at(url, tmp_path / "there").contents() == frozenset()
    assert objects(url) == [f"{url.removeprefix('memory:/')}/study.json"]


def failing(times: int, do: Callable[..., Any]) -> Callable[..., Any]:
    """A call that fails so often before it does what it should."""
    left = [times]

    def call(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise ConnectionError("no route")
        return do(*args, **kwargs)

    return call


def test_a_place_that_comes_back_in_time_is_not_noticed(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        MemoryFileSystem, "put_file", failing(2, MemoryFileSystem.put_file), raising=True
    )
    _, digest = filled(url, tmp_path / "here")
    assert place_at(url, tmp_path / "there").fetch(ONE, digest).is_dir()


def test_a_place_that_is_away_is_no_damage(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = place_at(url, tmp_path / "here")
    store = CheckpointStore(here)
    (store.begin(3, 0) / "net").write_text("weights")
    made = store.commit(3, 0, 1)
    there = CheckpointStore(place_at(url, tmp_path / "there"), [made])
    with monkeypatch.context() as patch:
        patch.setattr(MemoryFileSystem, "cat_file", failing(99, MemoryFileSystem.cat_file))
        with pytest.raises(PlaceAway, match="no route"):
            there.thaw(3)
        with pytest.raises(PlaceAway):
            place_at(url, tmp_path / "third").contents()
    assert there.held == (made,)
    assert there.thaw(3).checkpoint == made


def test_a_commit_that_cannot_be_sent_leaves_a_draft(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_at(url, tmp_path / "here")
    place.contents()
    (place.begin(Draft(3, 7)) / "net").write_text("weights")
    with monkeypatch.context() as patch:
        patch.setattr(MemoryFileSystem, "put_file", failing(99, MemoryFileSystem.put_file))
        with pytest.raises(PlaceAway):
            place.commit(Draft(3, 7), ONE)
    assert place.contents() == frozenset()  # and removes the draft, as after a kill
    (place.begin(Draft(3, 7)) / "net").write_text("weights")
    assert place.commit(Draft(3, 7), ONE).bytes == len("weights")


def test_what_arrives_damaged_is_sent_again(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = MemoryFileSystem.put_file
    sent: list[str] = []

    def put(self: MemoryFileSystem, near: str, far: str, **options: Any) -> None:
        sent.append(far)
        whole(self, near, far, **options)
        if len(sent) == 1:
            self.pipe_file(far, b"damaged on the way")

    monkeypatch.setattr(MemoryFileSystem, "put_file", put)
    _, digest = filled(url, tmp_path / "here")
    assert len(sent) == 2
    assert place_at(url, tmp_path / "there").fetch(ONE, digest).is_dir()


def test_the_protected_one_stays_until_another_is(url: str, tmp_path: Path) -> None:
    place = place_at(url, tmp_path / "here")
    store = CheckpointStore(place, generations=1)
    made = []
    for attempt in range(3):
        (store.begin(1, attempt) / "net").write_text(str(attempt))
        made.append(store.commit(1, attempt, attempt + 1))
        if attempt == 0:
            store.protect(Generation(1, 1))
        store.settled(made[-1])
        store.finish()
    assert place.contents() == {Generation(1, 1), Generation(1, 3)}
    again = CheckpointStore(place, made, 1, Generation(1, 1))
    assert place.contents() == {Generation(1, 1), Generation(1, 3)}
    again.protect(Generation(1, 3))
    again.finish()
    assert place.contents() == {Generation(1, 3)}
    again.protect(None)
    again.finish()
    assert place.contents() == {Generation(1, 3)}


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(
        st.text("ab é/.", min_size=1, max_size=6).filter(
            lambda name: all(part.strip(". ") for part in name.split("/"))
        ),
        st.binary(max_size=40),
        max_size=4,
    )
)
def test_any_files_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    tmp_path = tmp_path_factory.mktemp("any")
    url = f"memory://bucket/{uuid.uuid4().hex}"
    place = place_at(url, tmp_path / "here")
    place.contents()
    folder = place.begin(Draft(3, 7))
    written: dict[str, bytes] = {}
    for name, content in files.items():
        path = folder / name
        if any((folder / parent).is_file() for parent in Path(name).parents) or path.is_dir():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        written[name] = content
    seal = place.commit(Draft(3, 7), ONE)
    back = place_at(url, tmp_path / "there").fetch(ONE, seal.digest)
    assert {name: (back / name).read_bytes() for name in written} == written


def test_paths_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(Misuse, match="must not hold a password"):
        refuse_bad_url("ftp://me:secret@host/path")
    with pytest.raises(Misuse, match="cannot lie at nosuch://"):
        refuse_bad_url("nosuch://host/path")
