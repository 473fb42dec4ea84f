"""The demo: its page shows how averages mislead, and can be read on a phone."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import meanbounds as mb
from meanbounds.cli import demo_page, main
from meanbounds.paper.page import image
from tests.servers import browser

SMALLEST = 11.0  # pixels


@dataclass(frozen=True)
class Written:
    """One run of the command: what it wrote, what it printed, and the figures of the page by the window's width."""

    folder: Path
    said: str
    figures: dict[int, list[Figure]]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder, said = tmp_path_factory.mktemp("demo"), io.StringIO()
    figures: dict[int, list[Figure]] = {390: [], 1200: []}

    def kept(figure: Figure, words: str) -> str:
        figures[390 if figure.get_figwidth() < 5.0 else 1200].append(figure)
        return image(figure, words)

    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said):
        patch.setattr(demo_page, "_LABORATORIES", 5)
        patch.setattr(demo_page, "image", kept)
        assert main(["demo", "-o", str(folder)]) == 0
    return Written(folder, said.getvalue(), figures)


def test_demo(written: Written) -> None:
    assert (written.folder / "regret.png").stat().st_size > 20_000
    assert "less than UCB" in written.said
    names = {"bounds.json", "index.html", "log.parquet", "regret.parquet", "regret.png", "summary.txt"}
    assert {path.name for path in written.folder.iterdir()} == names


def test_picture_only(tmp_path: Path) -> None:
    assert main(["demo", "-o", str(tmp_path), "--picture-only"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["regret.png"]


def test_the_page_shows_naive_means_beside_bounds_and_truth(written: Written) -> None:
    page = (written.folder / "index.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 6  # three pictures, each for a wide and for a narrow window
    assert re.findall(r"Over 5 made-up worlds, GLUE", page)
    found = mb.logs.load_bounds(written.folder / "bounds.json")
    assert len(found) == 3
    rows = dict(re.findall(r"<tr><td>(\w+, \w)</td>(.*?)</tr>", page))
    assert len(rows) == 15
    log = pd.read_parquet(written.folder / "log.parquet")
    world, misleading = demo_page._world(), 0
    for z, (context, own) in enumerate(found.items()):
        for k, arm in enumerate(own.arms):
            rewards = log[(log["context"] == context) & (log["arm"] == arm)]["reward"]
            naive, lower, upper, truth = re.findall(r"<td>(.*?)</td>", rows[f"{context}, {arm}"])
            assert naive == (f"{rewards.mean():.2f}" if len(rewards) else "no rows")
            assert (lower, upper) == (f"{own.lower[k]:.2f}", f"{own.upper[k]:.2f}")
            assert truth == f"{world.marginal_means[z, k]:.2f}"
            misleading += len(rewards) > 0 and rewards.mean() > own.upper[k]
    assert misleading >= 5  # naive means that the bounds rule out


def test_text_in_pictures_can_be_read_on_a_phone_and_on_a_desk(written: Written) -> None:
    with browser() as window:
        for width, figures in written.figures.items():
            tab = window.new_page(viewport={"width": width, "height": 800})
            tab.goto((written.folder / "index.html").as_uri())
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            sizes = tab.evaluate("[...document.images].map(i => [i.clientWidth, i.clientHeight])")
            shown = [size for size in sizes if size[0]]
            assert len(shown) == len(figures) == 3
            for figure, (across, down) in zip(figures, shown, strict=True):
                inches = figure.get_size_inches()
                assert down / across == pytest.approx(inches[1] / inches[0], rel=0.02)  # the right one of the two
                points = [float(text.get_fontsize()) for text in figure.findobj(Text) if text.get_text().strip()]
                assert min(points) / 72.0 * across / inches[0] >= SMALLEST
                assert_inside(figure)


def assert_inside(figure: Figure) -> None:
    """Nothing is cut off at the edge of its picture."""
    figure.canvas.draw()
    width, height = figure.get_size_inches()
    box = figure.get_tightbbox()
    assert min(box.x0, box.y0) >= -0.02
    assert box.x1 <= width + 0.02
    assert box.y1 <= height + 0.02


def test_labels_are_names_of_policies() -> None:
    """A picture gives a policy its colour by its name."""
    assert list(demo_page._POLICIES) == ["UCB", "GLUE", "Thompson sampling"]


def test_the_number_that_the_demo_prints() -> None:
    result = demo_page.compare_laboratories(30)
    assert result.won > result.lost
    assert result.first < result.second
