"""What a person sees of the comparison: no empty panel, no line of the legend cut off."""

import pytest

from bhpt.bench.peers import figures
from bhpt.bench.peers.standings import ALL

pytest.importorskip("matplotlib", reason="figures need matplotlib")


def test_panels_that_nothing_is_drawn_in_are_not_shown() -> None:
    figure, axes = figures._panels(["a", "b", "c", "d", "e"])
    assert len(axes) == 5
    assert [axis.axison for axis in figure.axes] == [True] * 5 + [False]


def test_a_long_legend_is_set_in_columns() -> None:
    figure, axes = figures._panels([ALL])
    for i in range(22):
        axes[ALL].plot([1, 2], [1, 2], label=f"policy-{i:02d}")
    figures._svg(figure, axes[ALL])
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.y0 >= 0
    assert box.y1 <= figure.bbox.y1


def test_no_two_policies_look_alike() -> None:
    names = ["default", *(f"policy-{i:02d}" for i in range(50))]
    styles = [figures.PeerStyle.of(name, place) for place, name in enumerate(names)]
    assert len({(style.color, style.marker) for style in styles}) == len(names)
