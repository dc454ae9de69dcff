import sys
from types import ModuleType, SimpleNamespace

import pytest

from bhpt.domain import Misuse
from bhpt.reports.prediction import predict_study
from bhpt.views.live_view import watching
from bhpt.views.notebook import NotebookView, in_notebook
from tests.reports.cases import state_of


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a kernel's cell has shown, one after the other."""
    texts: list[str] = []
    shell, display = ModuleType("IPython"), ModuleType("IPython.display")
    kernel = SimpleNamespace(config={"IPKernelApp": {}})
    shell.__dict__["get_ipython"] = lambda: kernel
    display.__dict__["HTML"] = lambda text: text
    handle = SimpleNamespace(update=texts.append)

    def show(text: str, display_id: bool) -> SimpleNamespace:
        assert display_id
        texts.append(text)
        return handle

    display.__dict__["display"] = show
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return texts


def test_a_cell_is_updated_about_once_a_second(shown: list[str]) -> None:
    state = state_of(units=8)
    with watching("auto", "title", predict_study) as watch:
        watch(state, ())
        watch(state, ())
    assert len(shown) == 2  # the empty place, and one look
    assert "at the end" in shown[-1]
    assert "8 of 20 epochs" in shown[-1]


def test_the_end_is_always_shown() -> None:
    texts: list[str] = []
    view = NotebookView(texts.append, lambda _: None, now=lambda: 0.0)
    view(state_of(units=8), ())
    view(state_of(), ())
    assert "20 of 20 epochs" in texts[-1]


def test_a_program_without_a_kernel_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    assert not in_notebook()
    with pytest.raises(Misuse, match="needs IPython"), watching("notebook", "", predict_study):
        pass
