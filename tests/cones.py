"""Arms with features of many kinds, and an independent solver for what can be said of them."""

from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
from scipy import sparse

import meanbounds as mb
from meanbounds.linear.arms import LinearArms
from meanbounds.support.types import Floats

KINDS = ("plain", "offsets", "scales", "dependent", "zero", "sphere", "equal", "flat", "vertex", "twins", "few", "none")


@dataclass
class Instance:
    """Bounds that hold for one parameter."""

    features: Floats
    lower: Floats
    upper: Floats
    offset: Floats
    norm_high: float
    parameter: Floats

    @property
    def reach(self) -> Floats:
        return self.norm_high * np.linalg.norm(self.features, axis=1)

    @property
    def arms(self) -> LinearArms:
        widest = float((self.reach + np.abs(self.offset)).max()) + 1.0
        ends = np.clip(self.lower, -widest, widest), np.clip(self.upper, -widest, widest)
        return LinearArms(self.features, mb.MeanBounds(*ends, low=-widest, high=widest), offset=self.offset)


def instance(rng: np.random.Generator, kind: str, arms: int, d: int) -> Instance:
    """Some arms with features of length 1 and an unknown parameter, made special in one way."""
    features, parameter = rng.standard_normal((arms, d)), rng.standard_normal(d)
    offset, norm_high = np.zeros(arms), 1.0
    if kind == "dependent":
        features = features[:, : d // 2 + 1] @ rng.standard_normal((d // 2 + 1, d))
    if kind == "twins":
        features[arms // 2 :] = features[: arms - arms // 2]
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    if kind == "flat" and d > 1:
        features[2] = (features[0] + features[1]) / np.linalg.norm(features[0] + features[1])
    parameter *= (1.0 if kind == "sphere" else rng.uniform(0.2, 1.0)) / np.linalg.norm(parameter)
    if kind == "offsets":
        offset, norm_high = rng.uniform(-1.0, 1.0, arms), 1.3
        features *= rng.uniform(0.2, 3.0, (arms, 1))
    if kind == "scales":
        norm_high = 10.0 ** rng.uniform(-3, 3)
        parameter *= norm_high
        features *= 10.0 ** rng.uniform(-6, 6, (arms, 1))
    if kind == "zero":
        features[rng.random(arms) < 0.3] = 0.0
    means = features @ parameter
    below, above = rng.uniform(0.0, 0.6, (2, arms)) ** 2 * norm_high * np.linalg.norm(features, axis=1)
    if kind == "equal":
        below[::3] = above[::3] = 0.0
    if kind == "flat" and d > 1:  # the largest means of two arms leave nothing but the least mean of a third
        above[:2], below[2:3] = 0.0, 0.0
    if kind == "vertex":
        side = rng.random(arms) < 0.5
        below[side], above[~side] = 0.0, 0.0
    if kind == "few":
        below[3:] = above[3:] = np.inf
    if kind == "none":
        below[:] = above[:] = np.inf
    return Instance(features, means + offset - below, means + offset + above, offset, norm_high, parameter)


def ellipsoid(rng: np.random.Generator, own: Instance) -> tuple[Floats, Floats, float]:
    """Centre, precision and radius of a confidence set that contains the parameter."""
    d = own.parameter.size
    played = rng.standard_normal((3 * d, d))
    precision = np.eye(d) + 10.0 ** rng.uniform(-1, 4) * (played.T * 10.0 ** rng.uniform(-3, 0, 3 * d)) @ played
    away = rng.standard_normal(d)
    away *= rng.uniform(0.0, 1.0) / np.sqrt(away @ precision @ away)
    radius = own.norm_high * 10.0 ** rng.uniform(-0.5, 1.0)
    return own.parameter + radius * away, precision, radius


def largest(target: Floats, own: Instance, inside: tuple[Floats, Floats, float] | None = None) -> float:
    """The largest ``target . parameter`` relative to ``norm_high * length``, by clarabel.

    It is minus infinity if no parameter satisfies everything, and NaN if the solver gave up.
    """
    d, size = target.size, np.where(own.reach > 0.0, own.reach, np.inf)
    rows = own.features * own.norm_high / size[:, None]
    above, below = (own.upper - own.offset) / size, (own.lower - own.offset) / size
    limits = [(rows[above < 1.0], above[above < 1.0]), (-rows[below > -1.0], -below[below > -1.0])]
    matrix, ends = (np.concatenate([pair[part] for pair in limits]) for part in (0, 1))
    ball = np.vstack([np.zeros((1, d)), -np.eye(d)])
    blocks, right, cones = [matrix, ball], [ends, np.eye(d + 1)[0]], [clarabel.SecondOrderConeT(d + 1)]
    if len(ends):
        cones.insert(0, clarabel.NonnegativeConeT(len(ends)))
    if inside is not None:
        centre, precision, radius = inside
        root = np.linalg.cholesky(precision).T * own.norm_high
        blocks.append(np.vstack([np.zeros((1, d)), -root]))
        right.append(np.concatenate([[radius], -root @ centre / own.norm_high]))
        cones.append(clarabel.SecondOrderConeT(d + 1))
    settings: Any = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    scaled = -target / np.linalg.norm(target)
    program = sparse.csc_matrix((d, d)), scaled, sparse.csc_matrix(np.vstack(blocks)), np.concatenate(right), cones
    found = clarabel.DefaultSolver(*program, settings).solve()
    status = str(found.status)
    if status == "Solved":
        return -float(found.obj_val)
    return -np.inf if status == "PrimalInfeasible" else np.nan
