"""Checkpoints in a bucket of a real S3-compatible server."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from bhpt.checkpoints import CheckpointStore, Draft, Generation, PlaceAway, RemoteFolder

pytestmark = pytest.mark.slow
server_of = pytest.importorskip("moto.server", reason="needs moto[server]")
pytest.importorskip("s3fs", reason="needs s3fs")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, object]]:
    """A new bucket on a server of its own, and the server."""
    import s3fs

    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("FSSPEC_S3_ENDPOINT_URL", f"http://{host}:{port}")
    name = f"bucket-{uuid.uuid4().hex}"
    s3fs.S3FileSystem(skip_instance_cache=True).mkdir(name)
    yield f"s3://{name}/team/net", server
    server.stop()


def test_checkpoints_in_a_bucket(bucket: tuple[str, object], tmp_path: Path) -> None:
    url, _ = bucket
    store = CheckpointStore(RemoteFolder(url, tmp_path / "here", "me"))
    made = []
    for attempt in range(3):
        folder = store.begin(1, attempt)
        (folder / "deep" / "er").mkdir(parents=True)
        (folder / "deep" / "er" / "net").write_bytes(bytes([attempt]) * 3_000_000)
        (folder / "empty").mkdir()
        made.append(store.commit(1, attempt, attempt + 1))
        store.settled(made[-1])
    store.finish()
    there = RemoteFolder(url, tmp_path / "there", "me")
    assert there.contents() == {Generation(1, 2), Generation(1, 3)}
    thawed = CheckpointStore(there, made).thaw(1)
    assert thawed.folder is not None
    assert (thawed.folder / "deep" / "er" / "net").read_bytes() == bytes([2]) * 3_000_000
    assert (thawed.folder / "empty").is_dir()


def test_a_server_that_is_away_is_no_damage(bucket: tuple[str, object], tmp_path: Path) -> None:
    url, server = bucket
    here = RemoteFolder(url, tmp_path / "here", "me", patience_s=0.1)
    here.contents()
    (here.begin(Draft(1, 0)) / "net").write_text("weights")
    here.commit(Draft(1, 0), Generation(1, 1))
    (here.begin(Draft(1, 1)) / "net").write_text("more")
    server.stop()  # type: ignore[attr-defined]
    with pytest.raises(PlaceAway, match="cannot be reached"):
        here.commit(Draft(1, 1), Generation(1, 2))
    with pytest.raises(PlaceAway, match="cannot be reached"):
        RemoteFolder(url, tmp_path / "there", "me", patience_s=0.1).fetch(Generation(1, 1))
    assert (here.fetch(Generation(1, 1)) / "net").read_text() == "weights"
