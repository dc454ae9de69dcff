import io

from matplotlib.figure import Figure

from bhpt.bench.figure_style import write_svg


def _drawn() -> str:
    figure = Figure()
    figure.subplots().plot([1, 2, 3], [3, 1, 2], "o-")
    text = io.StringIO()
    write_svg(figure, text)
    return text.getvalue()


def test_the_same_figure_is_the_same_text() -> None:
    """So that a picture that is made again changes only where it shows something else."""
    assert _drawn() == _drawn()
