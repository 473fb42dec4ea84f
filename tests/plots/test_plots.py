"""Pictures: what they show, one colour for one policy, and letters that can be read on a phone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

import meanbounds as mb
from meanbounds import plots, policies
from meanbounds.plots.regret import _apart
from meanbounds.plots.style import COLOURS, ink, looks, policy_name
from meanbounds.policies import AnyPolicy
from tests.figures import beyond, smallest_letters

PHONE = 390  # pixels

NOT_POLICIES = ("AnyPolicy", "EXPLORATION", "LinearPolicy", "LoggedArms", "Plan", "Policy", "make_plan")
POLICIES = [name for name in policies.__all__ if name not in NOT_POLICIES]

LAB = mb.HiddenContexts.random(visible=3, hidden=4, arms=3, seed=2)


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    plt.close("all")


@cache
def simulated() -> mb.Regret:
    some = {"UCB": mb.UCB(), "GLUE": mb.GLUE(), "GLUE, t": mb.GLUE(f="t"), "B-KL-UCB": mb.BKLUCB(), "own": mb.UCB()}
    bounds = mb.MeanBounds([0.85, 0.4, 0.1], [0.98, 0.97, 0.6], arms=["new", "old", "a name that is rather long"])
    return mb.simulate(some, mb.Bernoulli([0.9, 0.8, 0.5]), bounds, horizon=500, runs=10, seed=7, checkpoints=20)


@cache
def linear() -> mb.Regret:
    instance = mb.LinearInstance.paper(0)
    some: dict[str, AnyPolicy] = {"OFUL": mb.OFUL(), "R-OFUL": mb.ROFUL(index="clip")}
    return mb.simulate(some, instance.environment(5), instance.bounds, horizon=30, runs=2, seed=7)


@cache
def assumed() -> mb.logs.Sensitivity:
    return mb.logs.sensitivity(LAB.counts(), gap_low=[0.02, 0.0, 0.15, 0.9], gap_high=[0.9, 1.0], infinite=True)


def bounds_of_contexts() -> Mapping[Any, mb.MeanBounds]:
    return mb.logs.bounds(LAB.counts(), gap_low=LAB.gap_low, gap_high=LAB.gap_high, infinite=True)


def cone() -> Axes:
    bounds = mb.MeanBounds([0.5, -1.0, -1.0], [1.0, 1.0, 1.0], arms=["a", "b", "c"], low=-1.0, high=1.0)
    return plots.plot_cone([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], bounds, theta=[0.7, 0.3])


def beside() -> Axes:
    found = {"right": mb.MeanBounds([0.2], [0.8]), "wrong": mb.MeanBounds([0.6], [0.7])}
    return plots.plot_bounds_beside(found, [0.5], low=0.0, high=1.0)


DRAWN: Mapping[str, Callable[[], Axes | Figure]] = {
    "regret": lambda: simulated().plot(),
    "bounds on regret": lambda: simulated().plot(theory="bounds"),
    "slopes": lambda: simulated().plot(theory="slopes"),
    "kept": lambda: plots.plot_kept(linear()),
    "bounds": lambda: plots.plot_bounds(mb.MeanBounds.vacuous(40)),
    "beside": beside,
    "contexts": lambda: plots.plot_contexts(bounds_of_contexts()),
    "some contexts": lambda: plots.plot_contexts(bounds_of_contexts(), most=2),
    "cone": cone,
    "sensitivity": lambda: assumed().plot(),
    "sensitivity of one context": lambda: assumed().plot(context="z1"),
    "study": lambda: plots.plot_study(simulated(), "A title that is longer than one line of a narrow picture"),
}


class TestLetters:
    @pytest.mark.parametrize("name", DRAWN)
    def test_can_be_read_on_a_phone(self, name: str) -> None:
        """At least 11 pixels high where the picture is 390 pixels wide, and nothing reaches beyond its edges."""
        drawn = DRAWN[name]()
        figure = drawn if isinstance(drawn, Figure) else drawn.get_figure(root=True)
        assert figure is not None
        assert smallest_letters(figure) / 72.0 / figure.get_size_inches()[0] * PHONE >= 11.0
        assert not beyond(figure)

    @pytest.mark.parametrize("colour", COLOURS)
    def test_have_contrast(self, colour: str) -> None:
        """The ratio of luminances that WCAG 2 asks of text, 4.5, computed by its formula."""
        parts = [int(ink(colour)[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        assert 1.05 / (luminance + 0.05) >= 4.45

    def test_names_do_not_overlap(self) -> None:
        figure = plots.plot_study(simulated())
        figure.draw_without_rendering()
        ax = figure.axes[1]
        boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.y0)
        for lower, upper in pairwise(boxes):
            assert upper.y0 >= lower.y1 - 2.0

    def test_boxes_are_moved_apart_as_little_as_can_be(self) -> None:
        """Two that overlap by 0.5 move by 0.25 each; a third that they would then touch joins them."""
        assert _apart([0.5, 1.0, 9.0], [1.0, 1.0, 1.0]) == pytest.approx([0.47, 1.47, 9.0])
        assert _apart([2.0, 2.5, 9.0], [1.0, 1.0, 1.0]) == pytest.approx([1.75, 2.75, 9.0])
        assert _apart([2.0, 2.5, 3.0], [1.0, 1.0, 1.0]) == pytest.approx([1.5, 2.5, 3.5])


class TestColours:
    @pytest.mark.parametrize("policy", POLICIES)
    def test_every_policy_has_one(self, policy: str) -> None:
        """Under its ``repr`` too, and beside any others."""
        own = looks([policy])[policy]
        assert policy_name(policy) == policy.lower()
        text = repr(getattr(mb, policy)())
        assert looks(["mine", "yours", text])[text] == own

    @pytest.mark.parametrize(
        ("label", "policy"),
        [
            ("B-KL-UCB", "BKLUCB"),
            ("UCB, from nothing", "UCB"),
            ("GLUE(f='t')", "GLUE"),
            ("Thompson sampling", "ThompsonSampling"),
            ("R-OFUL as printed", "ROFUL"),
        ],
    )
    def test_labels_that_name_a_policy(self, label: str, policy: str) -> None:
        assert looks([label])[label] == looks([policy])[policy]

    def test_others_get_the_colours_that_are_left(self) -> None:
        found = looks(["mine", "UCB", "yours", "GLUE"])
        assert [found[name].colour for name in ("mine", "yours")] == [COLOURS[1], COLOURS[3]]
        many = looks([f"policy {k}" for k in range(30)])
        assert len(set(many.values())) == 30

    def test_variants_differ_by_line(self) -> None:
        found = looks(["GLUE", "GLUE, t"])
        assert found["GLUE"].colour == found["GLUE, t"].colour
        assert found["GLUE"].style != found["GLUE, t"].style

    def test_the_same_in_all_pictures(self) -> None:
        """GLUE was green in the README and orange on the demo's page, where it came second."""
        alone = simulated().select(["B-KL-UCB", "GLUE"]).plot().lines[1].get_color()
        beside = simulated().plot().lines[1].get_color()
        study = plots.plot_study(simulated()).axes[1].lines[1].get_color()
        assert alone == beside == study == looks(["GLUE"])["GLUE"].colour

    def test_names_have_the_colour_of_their_lines(self) -> None:
        ax = simulated().plot()
        colours = {text.get_text(): text.get_color() for text in ax.texts}
        for label, line in zip(simulated().labels, ax.lines, strict=True):
            assert colours[label] == ink(to_hex(str(line.get_color())))

    def test_given_ones(self) -> None:
        ax = plots.plot_regret(simulated(), colours={"GLUE": "#123456"})
        assert ax.lines[1].get_color() == "#123456"


class TestBounds:
    @pytest.mark.parametrize(("arms", "inches"), [(2, None), (60, None), (15, 1.6)])
    def test_there_is_space_between_bars(self, arms: int, inches: float | None) -> None:
        """Bars were 7 points thick whatever the space was, and touched each other where arms were many."""
        panel = None if inches is None else plots.column([inches])[1][0]
        ax = plots.plot_bounds(mb.MeanBounds.vacuous(arms), ax=panel)
        figure = ax.get_figure(root=True)
        assert figure is not None
        figure.draw_without_rendering()
        apart = ax.get_window_extent().height / figure.dpi * 72.0 / arms
        assert 1.2 * ax.lines[0].get_linewidth() < apart


class TestSensitivity:
    def test_shows_what_is_decided(self) -> None:
        """Each number is how many of three options in three contexts can be best."""
        texts = iter(text.get_text() for text in assumed().plot().texts)
        for high in (0.9, 1.0):
            for low in (0.0, 0.02, 0.15, 0.9):
                cell = [row for row in assumed().rows if (row["gap_low"], row["gap_high"]) == (low, high)]
                left = sum(3 - row["pruned"] for row in cell)
                expected = "not\npossible" if any(row["impossible"] for row in cell) else f"{left} of 9"
                assert next(texts) == expected

    def test_one_context_names_its_options(self) -> None:
        texts = [text.get_text() for text in assumed().plot(context="z1").texts]
        assert texts[:4] == ["all 3", "all 3", "arm 1", "not\npossible"]

    def test_other_values_are_means(self) -> None:
        (row, *_) = [row for row in assumed().rows if row["gap_low"] == 0.0 and row["gap_high"] == 0.9]
        width = np.mean([own["width"] for own in assumed().rows if {**own, "context": 0}.items() >= _gaps(row)])
        assert assumed().plot("width").texts[0].get_text() == f"{width:.2f}"

    def test_the_base_has_a_frame(self) -> None:
        (frame,) = assumed().plot().patches
        assert isinstance(frame, Rectangle)
        assert frame.get_x() == pytest.approx(1 - 0.47)  # gap_low 0.02 comes second

    def test_mistakes_are_named(self) -> None:
        with pytest.raises(ValueError, match="context must be one of 'z0', 'z1', 'z2'; got 'z9'"):
            assumed().plot(context="z9")
        gaps = dict.fromkeys(LAB.contexts, 0.01)
        found = mb.logs.sensitivity(LAB.counts(), gap_low=[gaps], gap_high=1.0, infinite=True)
        with pytest.raises(ValueError, match="gaps differ by context: choose one, for example context='z0'"):
            found.plot()
        assert len(found.plot(context="z0").texts) == 1


def _gaps(row: Mapping[str, Any]) -> Any:
    return {name: row[name] for name in ("gap_low", "gap_high")}.items()


def test_plain_arrays_are_enough() -> None:
    """Anything with rounds and curves can be drawn; nothing of meanbounds is needed."""

    class Plain:
        rounds = np.array([1, 2, 3])
        curves: Mapping[str, Any] = {"mine": np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]])}

        def mean(self, label: str) -> Any:
            return self.curves[label].mean(axis=0)

        def deviation(self, label: str) -> Any:
            return self.curves[label].std(axis=0)

        def band(self, label: str) -> Any:
            return self.mean(label), self.mean(label)

        def quantiles(self, label: str, levels: Any) -> Any:
            return np.quantile(self.curves[label], levels, axis=0)

    ax = plots.plot_regret(Plain())
    assert np.asarray(ax.lines[0].get_ydata()).tolist() == [0.5, 1.5, 2.5]
    assert [text.get_text() for text in ax.findobj(Text) if isinstance(text, Text) and text.get_text() == "mine"]
