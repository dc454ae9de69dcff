"""A study whose checkpoints lie in a bucket of a real S3-compatible server that goes away."""

import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bhpt.checkpoints import remote_folder
from bhpt.tuning import Options, Paused, resume, tune
from tests.tuning.cases import check_invariants
from tests.tuning.trainers import Net

pytestmark = pytest.mark.slow
server_of = pytest.importorskip("moto.server", reason="needs moto[server]")
pytest.importorskip("s3fs", reason="needs s3fs")

_CONFIGS = [{"x": value / 10} for value in range(11)]
_GATEWAY = """
import asyncio, sys
async def pass_on(source, target):
    while data := await source.read(65536):
        target.write(data); await target.drain()
    target.close()
async def serve(reader, writer):
    there_reader, there_writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    await asyncio.gather(pass_on(reader, there_writer), pass_on(there_reader, writer))
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


class Gateway:
    """The process through which a server is reached; it can be killed and started again."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self.port = 0
        self.start()

    def start(self) -> None:
        ports = [str(self.port), str(self._server_port)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _GATEWAY, *ports], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def _moto() -> Iterator[int]:
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        yield server.get_host_and_port()[1]
    finally:
        server.stop()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Gateway]]:
    """A path in a new bucket, and the gateway to its server."""
    import s3fs

    with _moto() as port:
        gateway = Gateway(port)
        address = f"http://127.0.0.1:{gateway.port}"
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        for name in ("AWS_ENDPOINT_URL", "FSSPEC_S3_ENDPOINT_URL"):
            monkeypatch.setenv(name, address)
        name = f"bucket-{uuid.uuid4().hex}"
        s3fs.S3FileSystem(skip_instance_cache=True).mkdir(name)
        yield f"s3://{name}/net", gateway
        gateway.kill()


def test_a_bucket_that_comes_back_costs_nothing(
    tmp_path: Path, bucket: tuple[str, Gateway]
) -> None:
    url, gateway = bucket
    back = threading.Timer(3.0, gateway.start)

    def lose_it(unit: object) -> None:
        if not seen:
            gateway.kill()
            back.start()
        seen.append(unit)

    seen: list[object] = []
    options = Options(grace_s=1.0, checkpoints=url)
    result = tune(
        Net, _CONFIGS, "12 epochs", 2, tmp_path / "net.db", options=options, on_unit=lose_it
    )
    back.join()
    check_invariants(result.state)
    assert (result.state.reports, result.state.ledger.spent) == (12, 12)


def test_a_bucket_that_stays_away_pauses_the_study(
    tmp_path: Path, bucket: tuple[str, Gateway], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, gateway = bucket
    monkeypatch.setattr(remote_folder, "PATIENCE_S", 1.0)
    file, options = tmp_path / "net.db", Options(grace_s=1.0, checkpoints=url)
    with pytest.raises(Paused):
        tune(Net, _CONFIGS, "12 epochs", 2, file, options=options, on_unit=lambda _: gateway.kill())
    gateway.start()
    state = resume(file, "2 epochs", options=options).state
    check_invariants(state)
    assert state.ledger.spent == 14
    assert all(arm.saved for arm in state.tried.values())
