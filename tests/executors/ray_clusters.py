"""A small Ray for tests: little memory, no dashboard."""

from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 80 << 20  # bytes of the object store: the least that Ray takes is 75 MB


@contextmanager
def local_ray(cpus: int) -> Iterator[None]:
    """Ray on this machine, in which this process is the driver."""
    import ray

    ray.init(
        address="local",
        num_cpus=cpus,
        object_store_memory=OBJECTS,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
    )
    try:
        yield
    finally:
        ray.shutdown()
