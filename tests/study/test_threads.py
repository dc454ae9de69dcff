"""Decisions use one BLAS thread, and leave everything as it was."""

import numpy as np
from threadpoolctl import threadpool_info

from bhpt.study.threads import one_thread


def blas_threads() -> list[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return [int(lib["num_threads"]) for lib in threadpool_info() if lib["user_api"] == "blas"]


def test_one_thread_within_and_as_many_as_before_afterwards() -> None:
    before = blas_threads()
    assert before
    with one_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
