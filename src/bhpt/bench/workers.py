"""Worker processes of a benchmark, each on one thread, so that times can be compared."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of so many processes; what is still queued at the end is dropped.

    Where the block is left by an error, by Ctrl-C, or because its process was killed, what runs in
    the pool ends at once: nobody would read it.
    """
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    spawn = multiprocessing.get_context("spawn")
    lives, life = spawn.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        jobs, mp_context=spawn, initializer=_end_when_closed, initargs=(lives,)
    )
    try:
        yield pool
    except BaseException:
        life.close()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _end_when_closed(lives: Connection) -> None:
    """In a process of the pool: end when the other end is closed, as its process does by dying."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all: the pool's owner acts on it

    def watch() -> None:
        wait([lives])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
