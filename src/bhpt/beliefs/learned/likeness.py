"""How alike the configurations of a study are, column by column, worked out once a pair.

From one choice of arms to the next most pairs stay the same, and comparing all of them takes longer
than the rest of a decision.

Notation:
    K  arms, R  arms looked at, D  columns of encoded configurations
"""

import numpy as np

from bhpt.beliefs.learned.geometry import likeness_by_column
from bhpt.domain import FloatArray, IntArray
from bhpt.domain.memory import all_same

_MOST = 512  # arms whose pairs are kept, of more those that were asked about last


class Likeness:
    """How alike pairs of arms are; results do not depend on what was asked before."""

    def __init__(self) -> None:
        self._features: FloatArray | None = None
        self._kept = np.zeros(0, np.int64)
        self._alike = np.zeros((0, 0))

    def of(self, features: FloatArray, rows: IntArray) -> FloatArray:
        """How alike some arms are in the mean of all columns, [R, R].

        Args:
            features: Encoded configurations of all arms, [K, D].
            rows: Which arms, in order, none twice.
        """
        self._follow(features)
        every = np.union1d(self._kept, rows)
        if len(every) > len(self._kept):
            self._add(every if len(every) <= _MOST else rows, features)
        at = np.searchsorted(self._kept, rows)
        return self._alike[at[:, None], at]

    def _follow(self, features: FloatArray) -> None:
        """Forget everything if these are not the configurations of before with some added."""
        known = self._features
        if known is not None:
            count = min(len(known), len(features))
            if not all_same((known[:count],), (features[:count],)):
                self._kept, self._alike = self._kept[:0], np.zeros((0, 0))
        self._features = features

    def _add(self, wanted: IntArray, features: FloatArray) -> None:
        """Keep the pairs of these arms and no others; compare those that are new."""
        alike = np.empty((len(wanted), len(wanted)))
        known = np.isin(wanted, self._kept, assume_unique=True)
        old, new = np.flatnonzero(known), np.flatnonzero(~known)
        at = np.searchsorted(self._kept, wanted[old])
        alike[old[:, None], old] = self._alike[at[:, None], at]
        configs = features[wanted].astype(float)
        added = likeness_by_column(np, configs[new], configs, np.ones(configs.shape[1]))
        alike[new], alike[:, new] = added, added.T
        self._kept, self._alike = wanted, alike
