"""What earlier studies showed, as expected ranks: against a dense solution and hand-made cases."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bhpt.beliefs.earlier_studies import (
    MOST_ARMS,
    EarlierExpert,
    EarlierStudy,
    summarise,
)
from bhpt.beliefs.rank_regression import HEIGHT, covariance, fitted, squares
from bhpt.domain import Curves, Misuse
from bhpt.spaces import Space
from bhpt.spaces.ranges import Choices, NumberRange, Range

RANGES: dict[str, Range] = {
    "p1": NumberRange(1e-4, 1.0, "log"),
    "p2": NumberRange(0.0, 1.0),
    "p3": Choices(("a", "b")),
}


def points(seed: int, count: int = 40) -> list[dict[str, object]]:
    rng = np.random.default_rng(seed)
    return [
        {"p1": 10 ** rng.uniform(-4, 0), "p2": rng.random(), "p3": str(rng.choice(["a", "b"]))}
        for _ in range(count)
    ]


def good(config: dict[str, object]) -> float:
    """Best at p1 = 0.01, better with p2, much better with b."""
    return float(-((np.log10(float(config["p1"])) + 2) ** 2) + float(config["p2"])  # type: ignore[arg-type]
                 + 2 * (config["p3"] == "b"))  # fmt: skip


def study(seed: int, **others: str) -> EarlierStudy:
    configs = points(seed)
    order = np.argsort(np.argsort([good(c) for c in configs]))
    ranks = (order + 0.5) / len(configs) - 0.5
    named = [{others.get(name, name): value for name, value in c.items()} for c in configs]
    return EarlierStudy(tuple(named), tuple(ranks.tolist()))


def test_ranks_come_over_to_a_study_of_the_same_space() -> None:
    fresh = points(9)
    found = EarlierExpert((study(0), study(1)), RANGES).ranks(fresh)
    assert np.corrcoef(found, [good(c) for c in fresh])[0, 1] > 0.8
    assert np.abs(found).max() < 0.6


def test_other_spellings_are_shared_and_other_names_are_not() -> None:
    fresh = points(9)
    spelled = EarlierExpert((study(0, p1="model.P1", p2="opt__p2"),), RANGES).ranks(fresh)
    np.testing.assert_allclose(spelled, EarlierExpert((study(0),), RANGES).ranks(fresh))
    other = EarlierExpert((study(0, p1="a", p2="b", p3="c"),), RANGES)
    assert not other.ranks(fresh).any()
    assert not EarlierExpert((), RANGES).ranks(fresh).any()
    assert not EarlierExpert((EarlierStudy((), ()),), RANGES).ranks(fresh).any()


def test_hyper_parameters_of_the_same_name_whose_ranges_do_not_overlap_are_others() -> None:
    batches = EarlierStudy(tuple({"p1": 16 << (k % 5)} for k in range(20)), (0.4, -0.4) * 10)
    assert not EarlierExpert((batches,), RANGES).knows_the_space
    words = EarlierStudy(tuple({"p3": word} for word in "cd" * 10), (0.4, -0.4) * 10)
    assert not EarlierExpert((words,), RANGES).knows_the_space


def test_a_study_with_mostly_other_ranges_is_of_another_space() -> None:
    def with_p2_and(**others: object) -> EarlierExpert:
        configs = tuple({"p2": k / 19, **others} for k in range(20))
        return EarlierExpert((EarlierStudy(configs, (0.4, -0.4) * 10),), RANGES)

    assert with_p2_and().knows_the_space
    assert with_p2_and(p1=50.0).knows_the_space  # half of them are shared
    assert not with_p2_and(p1=50.0, p3="c").knows_the_space


@pytest.mark.parametrize(("low", "high"), [(1e-3, 1e-2), (1e-6, 10.0), (1e-2, 1e2), (1e-6, 1e-3)])
def test_narrower_wider_and_shifted_ranges_are_of_the_same_hyper_parameter(
    low: float, high: float
) -> None:
    values = np.geomspace(low, high, 20)
    earlier = EarlierStudy(tuple({"p1": float(v)} for v in values), (0.4, -0.4) * 10)
    assert EarlierExpert((earlier,), {"p1": RANGES["p1"]}).knows_the_space


def test_little_is_said_far_from_everything_that_was_tried() -> None:
    values = np.geomspace(1e-4, 1e-2, 20)  # the lower half of the range, best in its middle
    bad = np.argsort(np.argsort(np.abs(np.log10(values) + 3)))
    near = EarlierStudy(tuple({"p1": float(v)} for v in values), tuple((9.5 - bad) / 20))
    expert = EarlierExpert((near,), {"p1": RANGES["p1"]})
    close, far = expert.ranks([{"p1": 1.1e-3}, {"p1": 1.0}])
    assert close > 0.3
    assert abs(far) < 0.25 * close


def test_expectations_are_gaussian_process_regression() -> None:
    configs, fresh = study(3).configs, points(4, 7)
    counts = tuple(np.linspace(0.5, 1.5, len(configs)).tolist())
    earlier = EarlierStudy(configs, study(3).ranks, counts)

    def blocks(configs: list[dict[str, object]]) -> list[np.ndarray]:
        one = [[(np.log10(float(c["p1"])) + 4) / 4] for c in configs]  # type: ignore[arg-type]
        words = [[0.5 * (c["p3"] == "a"), 0.5 * (c["p3"] == "b")] for c in configs]
        return [np.array(one), np.array([[c["p2"]] for c in configs], float), np.array(words)]

    x, new, ranks = blocks(list(configs)), blocks(fresh), np.array(earlier.ranks)
    fit = fitted(squares(x, x), ranks, np.array(counts), usual=0.5)
    gram = covariance(squares(x, x), fit.widths)
    assert np.diag(gram) == pytest.approx(HEIGHT)
    noise = np.diag(HEIGHT * fit.noise / np.array(counts))
    expected = covariance(squares(new, x), fit.widths) @ np.linalg.solve(gram + noise, ranks)
    expected *= fit.credence
    found = EarlierExpert((earlier,), RANGES).ranks(fresh)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_credence_is_by_the_evidence_against_noise_alone() -> None:
    """Of few points, by the densities themselves."""
    rng = np.random.default_rng(0)
    x, ranks, counts = [rng.random((6, 1))], rng.permutation(6) / 6 - 5 / 12, np.linspace(0.5, 2, 6)
    apart = squares(x, x)
    fit = fitted(apart, ranks, counts, usual=0.5)
    noise = np.diag(HEIGHT / counts)
    follow = multivariate_normal(cov=covariance(apart, fit.widths) + fit.noise * noise).pdf(ranks)
    far = np.log(fit.widths[0] / 0.8) ** 2 + np.log(fit.noise / 0.5) ** 2
    follow *= np.exp(-0.5 * far)
    chance = multivariate_normal(cov=noise).pdf(ranks)
    assert fit.credence == pytest.approx(follow / (follow + chance))


def test_ranks_that_follow_nothing_say_little() -> None:
    """Of three studies, as they are and with ranks exchanged between their configurations."""
    rng, fresh = np.random.default_rng(0), points(9)
    real = tuple(EarlierStudy(s.configs[:16], s.ranks[:16]) for s in map(study, range(3)))
    noise = [
        tuple(EarlierStudy(s.configs, tuple(rng.permutation(s.ranks))) for s in real)
        for _ in range(9)
    ]
    told, *by_chance = (EarlierExpert(one, RANGES).ranks(fresh).std() for one in (real, *noise))
    assert np.median(by_chance) < 0.03 * told


def test_ranks_that_count_more_are_followed_more() -> None:
    configs = tuple({"p2": 0.5} for _ in range(2))
    one, other = (
        EarlierExpert((EarlierStudy(configs, (0.4, -0.4), counts),), {"p2": RANGES["p2"]})
        for counts in ((1.5, 0.5), (0.5, 1.5))
    )
    assert one.ranks([{"p2": 0.5}])[0] > 0.02
    assert other.ranks([{"p2": 0.5}])[0] < -0.02


def test_arms_rank_by_the_best_loss_that_each_has_reached() -> None:
    """The second was ahead of the first after one epoch, and was not trained any further."""
    curves = Curves.of([[3.0, 0.5], [2.0], [9.0], [], [np.nan, 2.5]], 5)
    found = summarise(curves, [{"x": k} for k in range(5)])
    ranks = {c["x"]: rank for c, rank in zip(found.configs, found.ranks, strict=True)}
    assert sorted(ranks, key=lambda arm: -ranks[arm]) == [0, 1, 4, 2]
    assert ranks[0] == pytest.approx(0.5)
    assert ranks[1] == pytest.approx(2 / 3 - 0.5)
    assert sum(ranks.values()) == pytest.approx(0.0)
    counts = {c["x"]: count for c, count in zip(found.configs, found.counts, strict=True)}
    assert counts[0] == pytest.approx(np.sqrt(2) * counts[1])  # trained twice as long
    assert counts[1] == counts[2]


def test_what_is_kept_is_bounded() -> None:
    arms = MOST_ARMS + 50
    curves = Curves.of([[1.0 + k] * (1 + (k >= 50)) for k in range(arms)], 3)
    found = summarise(curves, [{"x": k} for k in range(arms)])
    assert len(found.configs) == MOST_ARMS
    assert min(c["x"] for c in found.configs) == 50  # those trained longest
    assert summarise(Curves.of([[1.0], []], 3), [{}, {}]) == EarlierStudy((), ())


def test_ranks_and_configurations_belong_together() -> None:
    with pytest.raises(Misuse, match="one rank for each configuration"):
        EarlierStudy(({"x": 1},), ())
    with pytest.raises(Misuse, match="how much each of its ranks counts"):
        EarlierStudy(({"x": 1},), (0.0,), (1.0, 1.0))


def test_a_declared_space_serves() -> None:
    space = Space.of({"p1": (1e-4, 1.0, "log"), "p2": (0.0, 1.0), "p3": ["a", "b"]})
    found = EarlierExpert((study(0),), space.ranges).ranks(points(2))
    np.testing.assert_allclose(found, EarlierExpert((study(0),), RANGES).ranks(points(2)))
