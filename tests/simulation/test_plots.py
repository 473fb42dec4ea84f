"""Pictures: no line hides another, labels stand in order without overlap, and everything can be read on a phone."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds import Regret
from meanbounds.simulation import INSTANCES
from meanbounds.simulation.plots import _ink, colours, draw_bounds, draw_regret, plot_bounds

ROUNDS = np.arange(1, 201) * 50
NOISE = np.random.default_rng(1).normal(1.0, 0.1, (40, 1))


def regret(**levels: Any) -> Regret:
    """Logarithmic regret of these sizes, or the curves that are given."""
    curves = {k: NOISE * (own if isinstance(own, np.ndarray) else own * np.log(ROUNDS)) for k, own in levels.items()}
    measures = {"considered": {k: np.full((40, 200), 3.5) for k in curves}}
    return Regret(
        ROUNDS, curves, {k: np.ones((40, 2)) for k in curves}, {"environment": {"means": [0.9, 0.8]}}, measures
    )


def drawn(own: Regret, **settings: Any) -> tuple[Any, str, dict[str, list[Any]]]:
    """Axes, caption, and for each label its lines, without the thin one that leads to the label."""
    figure: Any = own.plot(**settings)
    (ax,) = figure.axes
    wide = [line for line in ax.lines if line.get_linewidth() > 1.0]
    found = {k: [line for line in wide if line.get_color() == c] for k, c in colours(own.labels).items()}
    return ax, figure.get_supxlabel().replace("\n", " "), found


def overlapping(texts: Any) -> bool:
    """Whether two texts overlap by more than a quarter of a line."""
    found = [text.get_window_extent() for text in texts if text.get_text()]
    across = ((min(a.x1, b.x1) - max(a.x0, b.x0), a, b) for a, b in itertools.combinations(found, 2))
    return any(x > 0 and min(a.y1, b.y1) - max(a.y0, b.y0) > 0.25 * (a.y1 - a.y0) for x, a, b in across)


def inside(figure: Any) -> bool:
    whole = figure.get_tightbbox()
    return bool(whole.x0 >= 0 and whole.y0 >= 0 and whole.x1 <= 4.0 and whole.y1 <= figure.get_figheight())


SIZES = {"UCB": 12, "GLUE": 0, "BUCB": 0, "BIMED": 0.2, "ThompsonSampling(moments=2)": 0.21, "OptimisticGittins": 0.4}
CROWDED = {**SIZES, "IDS": 0.45, "a policy of mine, 0.1": 11.0, "KLUCB": 0.3, "$x$_1": 11.5}


def test_labels_are_in_order_and_overlap_nowhere() -> None:
    ax, _, _ = drawn(regret(**CROWDED))
    ax.figure.draw_without_rendering()
    assert not overlapping(ax.texts)
    assert inside(ax.figure)
    assert min(text.get_window_extent().x0 for text in ax.texts) > ax.bbox.x1
    places = {text.get_text(): text.get_position()[1] for text in ax.texts}
    order = ["UCB", "$x$_1", "a policy of", "IDS", "Optimistic", "KLUCB", "Thompson", "BIMED", "GLUE", "= BUCB"]
    heights = [places[name] for name in order]
    assert heights == sorted(heights, reverse=True)
    above = ax.transData.transform((0.0, 0.0))[1] - ax.bbox.y0
    assert above > 0.9 / 72 * ax.figure.dpi  # half of its line: a curve at 0 is seen above the axis


def test_identical_curves_are_labelled_together_and_all_seen() -> None:
    own = regret(UCB=5.0, ImprovedUCB=3.0, GLUE=3.0, BUCB=3.0)
    ax, caption, found = drawn(own)
    assert [text.get_text() for text in ax.texts] == ["ImprovedUCB", "= GLUE", "= BUCB", "UCB"]
    assert [text.get_color() for text in ax.texts] == [
        _ink(colours(own.labels)[k.get_text().strip("= ")]) for k in ax.texts
    ]
    assert [line.get_linestyle() for line in found["ImprovedUCB"]] == ["-"]
    (first, dashes), (second, same) = (found[k][0]._dash_pattern for k in ("GLUE", "BUCB"))
    assert dashes == same
    assert (dashes[1], abs(first - second)) == pytest.approx((2 * dashes[0], dashes[0]))  # a third of the line each
    assert caption.endswith("Where lines coincide, they are drawn as alternating dashes.")


def test_curves_are_dashed_only_where_they_lie_on_another() -> None:
    split = np.where(ROUNDS < 5000, 20.0, 20.0 + (ROUNDS - 5000) / 100.0)
    _, _, found = drawn(regret(UCB=np.full(200, 20.0), GLUE=split))
    dashed, solid = found["GLUE"]
    seen = np.isfinite(solid.get_ydata())
    assert dashed.get_linestyle() == "--"
    assert 4900 < dashed.get_xdata().max() < 5400
    assert seen[solid.get_xdata() > 5400].all()
    assert not seen[solid.get_xdata() < 4900].any()
    assert len(found["UCB"]) == 1
    _, caption, found = drawn(regret(UCB=np.linspace(0.0, 20.0, 200), GLUE=np.linspace(10.0, 5.0, 200)))
    assert [len(own) for own in found.values()] == [1, 1]  # lines that cross stay solid
    assert "Dashes" not in caption


def test_the_caption_says_what_is_shaded() -> None:
    own = regret(UCB=5.0)
    said = {
        "interval": "; shaded: its 95% confidence interval.",
        "deviation": "; shaded: one standard deviation.",
    }
    half = {"interval": own.interval["UCB"][1] - own.mean["UCB"], "deviation": own.deviation["UCB"]}
    for band in ("interval", "deviation", None):
        ax, caption, _ = drawn(own, band=band)
        assert caption == "Mean of 40 runs" + said.get(str(band), ".")
        top = [shade.get_paths()[0].vertices[:, 1].max() for shade in ax.collections]
        assert top == pytest.approx([(own.mean["UCB"] + half[band]).max()] if band else [])
    assert drawn(Regret([1, 2], {"UCB": [[0.5, 1.0]]}, {"UCB": [[1, 1]]}))[1] == "One run."


@pytest.mark.parametrize("log", ["", "x", "y", "xy"])
def test_scales(log: str) -> None:
    ax, _, _ = drawn(regret(UCB=5.0, GLUE=0.0), log=log)
    assert (ax.get_xscale(), ax.get_yscale()) == tuple("log" if side in log else "linear" for side in "xy")
    assert ax.get_xlim() == ((50 if "x" in log else 0), 10_000)
    ax, _, found = drawn(regret(UCB=5.0), measure="considered", log=log)
    assert (ax.get_ylabel(), set(found["UCB"][0].get_ydata())) == ("considered", {3.5})


def test_a_picture_can_be_read_on_a_phone(tmp_path: Path) -> None:
    instance, own = INSTANCES["high-lower-bound"], regret(UCB=5.0, GLUE=2.0)
    own.settings["environment"]["means"] = instance.means.tolist()
    title = "What bounds are worth: one arm is known to earn at least 0.85"
    for name in ("regret.png", "regret.svg"):
        figure: Any = own.plot(tmp_path / name, bounds=instance.bounds, title=title)
        assert (tmp_path / name).stat().st_size > 10_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["regret.png", "regret.svg"]
    assert (len(figure.axes), figure.get_suptitle().replace("\n", " ")) == (2, title)
    sizes = [text.get_fontsize() for text in figure.findobj(lambda part: hasattr(part, "get_fontsize"))]
    assert min(sizes) >= 9.0  # points: 12 pixels in a picture 390 pixels wide
    assert inside(figure)


def test_colours_belong_to_policies() -> None:
    assert colours(["UCB", "GLUE"])["GLUE"] == colours(["mine", "GLUE", "BUCB"])["GLUE"]
    crowded = set(colours(CROWDED).values())
    assert len(crowded) == len(CROWDED)
    for colour in crowded:  # contrast of its letters with white, as WCAG defines it
        dark = [int(_ink(colour)[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in dark]
        assert 1.05 / (np.dot(linear, [0.2126, 0.7152, 0.0722]) + 0.05) > 4.4


ARMS = ["tPA", "medical treatment by many drugs", "watch", "none", "aspirin and heparin in doses"]
BOUNDS = mb.MeanBounds([0.7, 0.2, 0.4, 0.1, 0.5], [0.95, 0.9, 0.6, 0.72, 0.65], arms=ARMS)


def test_bounds_show_what_is_pruned_and_what_is_wrong() -> None:
    figure: Any = plot_bounds(BOUNDS, [0.8, 0.6, 0.5, 0.3, 0.68])
    (ax,) = figure.axes
    bars = {k.get_label(): {round(bar.get_y() + bar.get_height() / 2) for bar in k} for k in ax.containers}
    assert bars == {"can be best": {0, 1}, "meta-pruned": {3}, "pruned": {2, 4}}
    assert all(bar.get_hatch() for bar in ax.containers[-1])  # not told by colour alone
    names = sorted(text.get_text() for text in ax.get_legend().get_texts())
    assert names == sorted([*bars, "true mean", "mean outside bounds", "largest lower bound"])
    (wrong,) = [line for line in ax.lines if line.get_label() == "mean outside bounds"]
    assert wrong.get_xydata().tolist() == [[0.68, 4.0]]
    assert figure.get_supxlabel().startswith("Pruned: an upper bound below the largest lower bound.\nMeta-pruned:")
    figure.draw_without_rendering()
    assert inside(figure)  # also the long names
    assert not overlapping(ax.get_yticklabels())
    many = plot_bounds(mb.MeanBounds.vacuous(400))
    assert (many.get_figheight() < 8.0, len(many.axes[0].get_yticklabels()) < 40) == (True, True)


def test_axes_of_ones_own() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.5))
    assert draw_bounds(left, BOUNDS) == "Pruned: an upper bound below the largest lower bound."
    assert draw_regret(right, regret(UCB=5.0, GLUE=2.0), band=None) == "Mean of 40 runs."
    assert [text.get_text() for text in right.texts] == ["GLUE", "UCB"]
    pyplot.close(figure)
    assert not pyplot.get_fignums()  # other pictures are not kept open either


REFUSED: dict[str, Callable[[], object]] = {
    'log must be "x", "y", "xy" or ""; got \'z\'': lambda: regret(UCB=1.0).plot(log="z"),
    'band must be "interval", "deviation" or None; got \'std\'': lambda: regret(UCB=1.0).plot(band="std"),
    r"ends with its format, such as picture\.png": lambda: regret(UCB=1.0).plot("picture"),
    "unknown measure 'consider', did you mean 'considered'": lambda: regret(UCB=1.0).plot(measure="consider"),
    r"means must have one entry for each of 5 arms; got \[0.5\]": lambda: plot_bounds(BOUNDS, [0.5]),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_is_refused(message: str) -> None:
    with pytest.raises(ValueError, match=message):
        REFUSED[message]()
