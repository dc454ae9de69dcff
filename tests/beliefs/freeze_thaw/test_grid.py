"""The grid of epochs where rounding is at its worst."""

import numpy as np
import pytest

from bhpt.beliefs.freeze_thaw.grid import factorise, make_grid
from bhpt.beliefs.freeze_thaw.hypers import Hypers

# met in a study whose losses reached zero: a decay so slow that only its rounding is left
SMOOTH = Hypers(
    mean=-1.1187,
    amplitude=1.0832,
    alpha=5.658505368533687e-07,
    beta=0.5676180025519014,
    magnitude=33669357.12273287,
    noise=0.0016724762000010721,
)


def test_a_grid_that_rounding_made_indefinite_is_still_one() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        factorise(SMOOTH, 19, 0.0, anchored=True)
    grid = make_grid(SMOOTH, 19, 0.0, anchored=True)
    for part in (grid.factor, grid.omega, grid.residual, grid.information):
        assert np.isfinite(part).all()
    assert (grid.residual >= 0).all()
    assert (np.diag(grid.factor) > 0).all()


def test_other_grids_have_no_more_noise_than_before() -> None:
    usual = Hypers(mean=0.0, amplitude=1.0, alpha=0.7, beta=1.2, magnitude=1.2, noise=0.01)
    lower = factorise(usual, 40, 0.0, anchored=True).lower
    np.testing.assert_array_equal(make_grid(usual, 40, 0.0, anchored=True).factor, lower)
