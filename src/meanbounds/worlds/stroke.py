"""A real example: an expert in a stroke trial who saw more than the log has."""

from __future__ import annotations

from importlib import resources

from meanbounds.support.optional import import_optional, optional
from meanbounds.worlds.hidden_contexts import HiddenContexts

__all__ = ["stroke_trial"]

_DOSES = {"N": "no heparin", "L": "low heparin", "M": "medium heparin", "H": "medium heparin"}
_BANDS = {"under 65": 65, "65 to 74": 75, "75 to 84": 85, "85 and over": 1000}
_TYPES = {"TACS": "total", "PACS": "partial"}


def stroke_trial() -> HiddenContexts:
    """The International Stroke Trial, a real randomised trial, as a world with hidden contexts.

    19,435 patients were given one of six treatments at random: aspirin or not, with no, low or medium heparin. The
    reward is the outcome at six months: 0 dead, 1/3 dependent, 2/3 not recovered, 1 recovered. The expert sees age
    band, consciousness and type of stroke, and gives the treatment that did best in such patients; the log records the
    age band, the treatment and the outcome.

    Notes
    -----
    Differences between these arms are small, and which arm is best in a cell is partly chance: this is an example of
    how bounds are found and checked, and says nothing about treatment. Data: Sandercock, Niewada and Czlonkowska
    (2011), https://doi.org/10.7488/ds/104, ODC-By 1.0.

    Examples
    --------
    >>> import meanbounds as mb
    >>> trial = mb.stroke_trial()
    >>> trial.contexts
    ('under 65', '65 to 74', '75 to 84', '85 and over')
    >>> trial.arms[:3]
    ('no aspirin, no heparin', 'no aspirin, low heparin', 'no aspirin, medium heparin')
    >>> trial.values.round(2).tolist()
    [0.0, 0.33, 0.67, 1.0]

    Bounds from a log of 100,000 such patients contain the true means in every age band:

    >>> found = mb.logs.bounds(trial.sample(100_000, seed=1), gap_low=trial.gap_low, gap_high=trial.gap_high)
    >>> all(own.contains(mean).all() for own, mean in zip(found.values(), trial.marginal_means, strict=True))
    True
    """
    with optional("worlds", "the data of the trial"):
        import pandas as pd
    import_optional("pyarrow", "worlds", "the data of the trial")  # pandas reads Parquet with it

    with resources.as_file(resources.files("meanbounds.worlds") / "data" / "ist.parquet") as path:
        rows = pd.read_parquet(path)
    rows = rows[rows["outcome"].between(1, 4)]
    ages = rows["age"].map(lambda age: next(band for band, end in _BANDS.items() if age < end))
    treatments = rows["aspirin"].map({"Y": "aspirin", "N": "no aspirin"}) + ", " + rows["heparin"].map(_DOSES)
    order = [f"{aspirin}, {dose}" for aspirin in ("no aspirin", "aspirin") for dose in dict.fromkeys(_DOSES.values())]
    patients = pd.DataFrame(
        {
            "age": pd.Categorical(ages, categories=list(_BANDS)),
            "consciousness": rows["consciousness"].map(lambda state: "alert" if state == "F" else "drowsy"),
            "type": rows["type"].map(lambda kind: _TYPES.get(kind, "other")),
            "arm": pd.Categorical(treatments, categories=order),
            "outcome": (rows["outcome"] - 1) / 3.0,
        }
    )
    return HiddenContexts.from_trial(
        patients, visible="age", hidden=["consciousness", "type"], arm="arm", reward="outcome"
    )
