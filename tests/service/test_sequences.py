"""Any sequence of commands, by several stores on one database, does what dictionaries and a plain agent say."""

import copy
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from msgspec import UNSET
from msgspec.structs import replace

import meanbounds as mb
from meanbounds.agents.tree import Split, Tree
from meanbounds.policies import Policy
from meanbounds.service import commands as c
from meanbounds.service.database import TABLES, connect
from meanbounds.service.refusals import RefusedError
from meanbounds.service.state import State
from meanbounds.service.verify import verify

ARMS: list[Any] = ["a", "b", mb.EXPERT]
BOUNDS = mb.MeanBounds([0.5, 0.2, 0.3], [0.9, 0.8, 0.7], arms=ARMS)
OTHER = mb.MeanBounds([0.1, 0.6, 0.3], [0.8, 0.9, 0.7], arms=ARMS)
TREE = Tree((Split("age", 75.0, missing="left"), Split("clinic", left=("x",), right=("y",)), None, None, None))
AGENTS = {
    "clinic": mb.Agent(mb.GLUE(), {"north": BOUNDS, "south": OTHER, ("ward", "9"): BOUNDS}, seed=7),
    "solo": mb.Agent(mb.ThompsonSampling(), BOUNDS, seed=8),
    "tree": mb.Agent(mb.OptimisticGittins(), dict.fromkeys(TREE.contexts, BOUNDS), seed=9, pool=True, tree=TREE),
}
CASES: list[Any] = [{"age": 60, "clinic": "x"}, {"age": None, "clinic": "z"}, "a", {"age": "81,5", "clinic": "x"}, "b"]
NAMES = ["north", "south", "Zoë Quist of Ward 4711", ("Yann Ypsilon", "64"), "Xaver 'Xx' %s"]
JSON_EXPERT = {"expert": True}
RARE = "no such arm"

contexts = st.sampled_from([*NAMES, *NAMES, None])
names = st.sampled_from(["a", "a", "b", "b", "b", "d", RARE])
ids = st.integers(0, 9).map(str)
arms = st.one_of(names, st.just(JSON_EXPERT))
rewards = st.sampled_from([0.0, 0.5, 0.5, 1.0, 1.0, 1.5, None])
units = st.sampled_from(["u", "v"])
asked = (
    contexts.map(lambda name: list(name) if isinstance(name, tuple) else name),
    st.sampled_from([None, None, None, ["a", "b"], ["b", JSON_EXPERT], [JSON_EXPERT], ["a", "d"], [RARE]]),
)
decisions = st.builds(c.Decide, ids, *asked)
sticky = st.builds(lambda unit, where, some: c.Decide("", where, some, unit=unit), units, *asked)
changes = st.one_of(
    st.sampled_from([mb.UCB(), mb.GLUE(), mb.KLUCB()]).map(lambda policy: {"policy": policy.to_dict()}),
    st.sampled_from([0.0, 0.05]).map(lambda floor: {"floor": floor}),
    st.sampled_from([0.0, 0.4, 0.4, 1.0]).map(lambda share: {"share": share}),
    st.sampled_from([0.0, None]).map(lambda hold: {"hold": hold}),
    st.sampled_from([BOUNDS, OTHER]).map(lambda bounds: {"bounds": bounds.to_dict()}),
    arms.map(lambda arm: {"force": arm}),
    st.sampled_from("ab").map(lambda arm: {"force": arm}),
    st.just({"free": True}),
    st.lists(arms, max_size=2, unique_by=str).map(lambda some: {"forbid": some}),
    arms.map(lambda arm: {"retire": arm}),
    arms.map(lambda arm: {"restore": arm}),
    st.just({"add": mb.MeanBounds([0.3], [0.95], arms=["d"]).to_dict()}),
)
told = st.builds(c.Reward, ids, reward=rewards, arm=st.none() | names)
plain = st.builds(c.Reward, ids, reward=st.sampled_from([0.0, 1.0]), arm=st.sampled_from([None, "b"]))
of_units = st.builds(c.Reward, unit=units, reward=rewards, arm=st.sampled_from([None, "b"]))
observed = st.builds(c.Observe, st.integers(0, 4).map(str), names, st.sampled_from([0.0, 1.0, 1.5]), contexts)
change_ids = st.sampled_from([None, None, "1", "2", "3", "4"])
changed = st.builds(lambda id, where, what: c.Change(id=id, context=where, **what), change_ids, contexts, changes)
back = st.builds(c.Rollback, to=st.integers(0, 5), id=change_ids)  # `to` counts versions until it is sent
erased = st.builds(c.Erase, st.sampled_from(NAMES[2:]))
mixed = [*[decisions] * 5, sticky, sticky, of_units, told, *[plain] * 3, observed, *[changed] * 2, back, erased]
orders = st.sampled_from(mixed).flatmap(lambda kind: kind)


class Model:
    """One agent, as it must be. It calls contexts by their place, so that a name may come again after it was erased."""

    def __init__(self, agent: mb.Agent, version: int) -> None:
        saved = agent.to_dict()
        self.contextual, self.tree = bool(agent.contexts), agent.tree
        if self.contextual:
            saved["contexts"] = [str(place) for place in range(len(agent.contexts))]
        self.agent, self.share, self.forced = mb.Agent.from_dict(saved), 1.0, dict[str | None, Any]()
        self.hold, self.units = None, dict[str, str]()  # by unit, the id of its latest decision
        self.places: dict[Any, str] = {name: str(place) for place, name in enumerate(agent.contexts)}
        self.decided, self.rewarded = dict[str, Any](), dict[str, Any]()
        self.observed, self.changed = dict[str, Any](), dict[str, Any]()
        self.settings = {version: self.now()}  # by version; those of a context that came later are added as it began
        self.added, self.named = 0, None  # the version that added an arm; the context that a command names

    @property
    def version(self) -> int:
        return max(self.settings)

    def now(self) -> dict[str, Any]:
        """All settings."""
        agent, places = self.agent, self.agent.contexts or (None,)
        return {
            "policy": agent.policy,
            "floor": agent.floor,
            "share": self.share,
            "hold": self.hold,
            "retired": [*agent.retired],
            "forced": dict(self.forced),
            "known": {place: agent.knowledge(place).bounds for place in places},
            "forbidden": {place: [*agent.forbidden(place)] for place in places},
        }

    def set(self, asked: c.Change | c.Rollback, settings: dict[str, Any], answer: Any) -> None:
        """Make these the settings from now on."""
        agent, self.share, self.forced = self.agent, settings["share"], settings["forced"]
        self.hold = settings["hold"]
        agent.follow(settings["policy"], floor=settings["floor"])
        for arm in agent.arms:
            (agent.retire if arm in settings["retired"] else agent.restore)(arm)
        for place, forbidden in settings["forbidden"].items():
            agent.forbid(forbidden, place)
            new, old = settings["known"][place], agent.knowledge(place).bounds  # of arms that are not given, the old
            both = [(new if arm in new.arms else old, arm) for arm in old.arms]
            lower = [own.lower[own.position(arm)] for own, arm in both]
            known = mb.MeanBounds(lower, [own.upper[own.position(arm)] for own, arm in both], arms=old.arms)
            if known != old:
                agent.know(known if place is None else {place: known})
        assert answer.version > self.version
        self.settings[answer.version] = self.now()
        self.changed[asked.id or ""] = asked, answer

    def check(self, command: c.Command, answer: Any) -> None:
        """Carry out a command here, too; what is refused changes nothing."""
        settings, refusal = dict(self.settings), None
        before = copy.deepcopy({name: own for name, own in vars(self).items() if name != "settings"})
        self.named = None
        try:
            _DO[type(command)](self, command, answer)
        except (ValueError, LookupError, TypeError) as error:
            refusal, named = error, self.named
            vars(self).update(before, settings=settings)
            if named is not None:  # a context is entered when it is first named
                self.place(named)
        status = 422 if refusal is not None else None
        assert getattr(answer, "status", None) == getattr(refusal, "status", status), (command, answer, refusal)

    def place(self, name: Any) -> str | None:
        if (name is None) == self.contextual:
            raise ValueError("a context is missing, or one too many")
        self.named = name
        if name is not None and name not in self.places:
            place = self.places[name] = str(len(self.agent.contexts))
            self.agent.know({place: mb.MeanBounds.vacuous(self.agent.arms)})
            self.agent.forbid([arm for arm in self.agent.arms if arm is not mb.EXPERT], place)
            for settings in self.settings.values():
                for what in ("known", "forbidden"):
                    settings[what][place] = self.now()[what][place]
        return None if name is None else self.places[name]

    def name(self, given: Any) -> Any:
        if isinstance(given, dict):
            assert self.tree is not None
            return self.tree.leaf(given)
        return tuple(given) if isinstance(given, list) else given

    def holds(self, given: Any, place: str | None, eligible: list[Any] | None) -> bool:
        """Whether a unit keeps what was decided for it."""
        forced, arm = self.forced.get(place, self.forced.get(None)), as_arm(given.arm)
        offered = [as_arm(one) for one in (self.agent.arms if eligible is None else eligible)]
        if forced is not None and forced not in offered:
            raise RefusedError(409, "forced", "")
        if forced is not None or given.reason == "forced":
            return self.hold is None and bool(arm == forced)
        return (
            self.hold is None and arm in offered and arm not in self.now()["retired"] + self.now()["forbidden"][place]
        )

    def decide(self, asked: c.Decide, answer: Any) -> None:
        name = self.name(asked.context)
        if asked.unit in self.units:
            place, given = self.place(name), self.decided[self.units[asked.unit]][2]
            if self.holds(given, place, asked.eligible):
                assert answer == replace(given, repeated=True)
                return
        if asked.id in self.decided:
            place, eligible, given = self.decided[asked.id]
            if (self.places.get(name, "") if name is not None else None, asked.eligible) != (place, eligible):
                raise RefusedError(409, "conflict", "")
            assert answer == replace(given, repeated=True)
            return
        place, agent = self.place(name), self.agent
        eligible = None if asked.eligible is None else [as_arm(arm) for arm in asked.eligible]
        forced = self.forced.get(place, self.forced.get(None))
        if forced is not None:
            if eligible is not None and forced not in eligible:
                raise RefusedError(409, "forced", "")
            due, reason = 1.0, "forced"
        else:
            chances = dict(zip(agent.arms, agent.probabilities(place, eligible).tolist(), strict=True))
            share = self.share if mb.EXPERT not in agent.retired and mb.EXPERT in (eligible or ARMS) else 1.0
            arm, reason = as_arm(answer.arm), answer.reason
            due = share * chances[arm] + (1.0 - share) * (arm is mb.EXPERT)
            if reason == "share":
                assert arm is mb.EXPERT
                assert share < 1.0
            else:  # as a plain agent decides
                assert share > 0.0
                assert arm == agent.propose(place, eligible).arm
                assert reason == agent.propose(place, eligible).reason
            agent.play(arm, place)
        assert abs(answer.probability - due) < 1e-12
        assert (answer.id in self.decided, answer.reason, answer.repeated) == (False, reason, False)
        assert answer.version == self.version
        self.decided[answer.id] = place, asked.eligible, answer
        if asked.unit is None:
            assert answer.id == asked.id
        else:
            self.units[asked.unit] = answer.id

    def reward(self, told: c.Reward, answer: Any) -> None:
        id = told.id if told.unit is None else self.units.get(told.unit, "")
        if id not in self.decided:
            raise RefusedError(404, "unknown_decision", "")
        place, _, decided = self.decided[id]
        asked, said = decided.arm == JSON_EXPERT, (told.reward, told.arm)
        if asked and told.arm is None and told.reward is not None:
            raise ValueError("which arm?")
        if not asked and told.arm not in (None, decided.arm):
            raise RefusedError(409, "conflict", "")
        if id in self.rewarded:
            had = self.rewarded[id]
            if had != said if asked and told.reward is not None else had[0] != told.reward:
                raise RefusedError(409, "conflict", "")
            assert answer.repeated
            return
        pulled = decided.reason != "forced"
        if told.reward is None:
            if pulled:
                self.agent.cancel(as_arm(decided.arm), place)
        elif asked:
            assert told.arm is not None
            self.agent.observe(told.arm, told.reward, place, pulled=pulled)
        else:
            self.agent.update(decided.arm, told.reward, place, pulled=pulled)
        self.rewarded[id] = said
        assert answer == c.DoneAnswer(id)

    def observe(self, told: c.Observe, answer: Any) -> None:
        name = self.name(told.context)
        if told.id in self.observed:
            place = self.places.get(name, "") if name is not None else None
            if self.observed[told.id] != (told.arm, told.reward, place):
                raise RefusedError(409, "conflict", "")
            assert answer == c.DoneAnswer(told.id, repeated=True)
            return
        place = self.place(name)
        self.agent.observe(told.arm, told.reward, place, pulled=False)
        self.observed[told.id] = told.arm, told.reward, place
        assert answer == c.DoneAnswer(told.id)

    def is_repeated(self, asked: c.Change | c.Rollback, answer: Any) -> bool:
        earlier, given = self.changed.get(asked.id or "", (None, None))
        if asked.id is None or earlier is None:
            return False
        if earlier != asked:
            raise RefusedError(409, "conflict", "")
        assert answer == given
        return True

    def change(self, asked: c.Change, answer: Any) -> None:
        if self.is_repeated(asked, answer):
            return
        ((what, value),) = ((name, getattr(asked, name)) for name in CHANGES if getattr(asked, name) is not UNSET)
        if asked.context is not None and what not in ("bounds", "force", "free", "forbid"):
            raise ValueError("this is about all contexts")
        place = None
        if asked.context is not None or (self.contextual and what in ("bounds", "forbid")):
            if asked.context is not None and self.contextual and asked.context not in self.places:
                raise RefusedError(404, "unknown_context", "")
            place = self.place(asked.context)
        if what == "add":
            self.agent.add(mb.MeanBounds.from_dict(value))
        settings = self.now()
        if what in ("force", "forbid", "retire", "restore"):
            given = [as_arm(arm) for arm in (value if what == "forbid" else [value])]
            if not set(given) <= set(self.agent.arms):
                raise ValueError("no such arm")
            if what == "force":
                settings["forced"][place] = given[0]
            elif what == "forbid":
                settings["forbidden"][place] = given
            else:
                others = [arm for arm in settings["retired"] if arm not in given]
                settings["retired"] = others + given * (what == "retire")
        elif what == "free":
            settings["forced"].pop(place, None)
        elif what == "bounds":
            settings["known"][place] = mb.MeanBounds.from_dict(value)
        elif what != "add":
            settings[what] = Policy.from_dict(value) if what == "policy" else value
        self.set(asked, settings, answer)
        self.added = answer.version if what == "add" else self.added

    def rollback(self, asked: c.Rollback, answer: Any) -> None:
        if self.is_repeated(asked, answer):
            return
        if asked.to not in self.settings:
            raise RefusedError(404, "unknown_version", "")
        if asked.to == self.version:
            assert answer.version == asked.to
        else:
            settings = copy.deepcopy(self.settings[asked.to])
            settings["retired"] += ["d"] * (self.added > asked.to)
            self.set(asked, settings, answer)

    def erase(self, asked: c.Erase, answer: Any) -> None:
        if asked.context not in self.places:
            raise RefusedError(404, "unknown_context", "")
        del self.places[asked.context]
        assert answer.version == self.version

    def compare(self, state: State) -> None:
        """Whether a store has the same agent."""
        agent, own = state.agent, self.agent
        assert isinstance(agent, mb.Agent)
        assert (agent.arms, agent.policy, agent.floor) == (own.arms, own.policy, own.floor)
        assert (set(agent.retired), state.share, state.version) == (set(own.retired), self.share, self.version)
        assert state.hold == self.hold
        numbers: dict[Any, Any] = dict(zip(own.contexts, agent.contexts, strict=True)) | {None: None}
        assert {name: numbers[place] for name, place in self.places.items()} == {
            name: str(number) for name, number in state.ids.items()
        }
        assert {
            number and int(number): self.forced[place] for place, number in numbers.items() if place in self.forced
        } == state.forced
        for place, number in numbers.items():
            for ours, theirs in zip(figures(own, place), figures(agent, number), strict=True):
                np.testing.assert_array_equal(ours, theirs)
            if place is not None or not self.contextual:
                assert agent.knowledge(number) == own.knowledge(place)
                assert agent.forbidden(number) == own.forbidden(place)


def figures(agent: mb.Agent, place: str | None) -> Iterable[Any]:
    return (getattr(agent, what)(place) for what in ("plays", "pulls", "pending", "means", "observed"))


def as_arm(given: Any) -> Any:
    return mb.EXPERT if given == JSON_EXPERT else given


_DO: dict[type[c.Command], Callable[[Model, Any, Any], None]] = {
    c.Decide: Model.decide,
    c.Reward: Model.reward,
    c.Observe: Model.observe,
    c.Change: Model.change,
    c.Rollback: Model.rollback,
    c.Erase: Model.erase,
}
CHANGES = ("policy", "floor", "share", "hold", "bounds", "force", "free", "forbid", "retire", "restore", "add")


class Sequences(RuleBasedStateMachine):
    """Two stores on one database, and a model."""

    def __init__(self, make: Callable[[], str]) -> None:
        super().__init__()
        self.address = address = make()
        self.stores, self.models = [mb.Store(address, create=True)], dict[str, Model]()
        for name, agent in AGENTS.items():
            self.stores[0].add(name, agent)
            self.models[name] = Model(agent, self.stores[0].writer.last.position)
        self.stores.append(mb.Store(address))

    @rule(
        which=st.integers(0, 1),
        group=st.lists(
            st.tuples(st.sampled_from(["clinic", "clinic", "solo", "tree"]), orders), min_size=1, max_size=12
        ),
    )
    def run(self, which: int, group: list[tuple[str, c.Command]]) -> None:
        sent = [c.Order(name, self.fit(name, command), "somebody") for name, command in group]
        erased = {name: set(model.places) for name, model in self.models.items()}
        for order, answer in zip(sent, self.stores[which].run(sent), strict=True):
            self.models[order.agent].check(order.command, answer)
        if any(isinstance(order.command, c.Erase) for order in sent):
            self.look_for(erased["clinic"])

    def fit(self, name: str, command: Any) -> c.Command:
        if name == "solo" and getattr(command, "context", None) in NAMES[1:]:
            return replace(command, context=None)
        if name == "tree" and isinstance(command, c.Decide | c.Observe):
            given: Any = tuple(command.context) if isinstance(command.context, list) else command.context
            return replace(command, context=dict(zip(NAMES, CASES, strict=True)).get(given, given))
        if name == "tree" and getattr(command, "bounds", UNSET) is not UNSET:  # each `know` is a new fit
            return replace(command, bounds=UNSET, floor=0.1)
        if isinstance(command, c.Rollback):
            versions = [*self.models[name].settings]
            return replace(command, to=versions[command.to] if command.to < len(versions) else 10**6)
        return command

    @rule(which=st.integers(0, 1), whole=st.booleans())
    def save(self, which: int, whole: bool) -> None:
        self.stores[which].writer.save()
        if whole:
            self.stores[which].close()
            self.stores[which] = mb.Store(self.address)

    def look_for(self, before: set[Any]) -> None:
        """Names that were erased are nowhere."""
        gone = [name for name in before if name not in self.models["clinic"].places]
        words = [part for name in gone for part in ((name,) if isinstance(name, str) else name[:1])]
        if self.address.startswith("postgresql"):
            database = self.stores[0].database
            whole = "".join(str(row) for table in TABLES for row in database.rows(table)).encode()
        else:
            whole = b"".join(path.read_bytes() for path in Path(self.address).parent.glob("clinic.db*"))
        for word in words:
            assert word.encode("ascii", "ignore")[-9:] not in whole, word

    @invariant()
    def compare(self) -> None:
        for store in self.stores:
            with store.reading() as states:
                for name, model in self.models.items():
                    model.compare(states[name])

    def teardown(self) -> None:
        """Nothing is damaged, and what events make of the agents is what they are."""
        with self.stores[0].reading() as states:
            live = {name: state.to_dict() for name, state in states.items()}
        for store in self.stores:
            store.close()
        with closing(connect(self.address)) as database:
            assert verify(database) == []
            rebuilt = dict[str, State]()
            for event in database.events():
                rebuilt.setdefault(event.agent, State(event.agent)).apply(event)
            assert {name: state.to_dict() for name, state in rebuilt.items()} == live


def check_sequences(make: Callable[[], str], examples: int) -> None:
    options = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    machine: Any = partial(Sequences, make)
    run_state_machine_as_test(machine, settings=settings(options, max_examples=examples, stateful_step_count=30))


@pytest.mark.filterwarnings("ignore")
def test_sequences_on_sqlite(tmp_path: Path) -> None:
    made = iter(range(10**6))

    def make() -> str:
        folder = tmp_path / str(next(made))
        folder.mkdir()
        return str(folder / "clinic.db")

    check_sequences(make, 40)


@pytest.mark.filterwarnings("ignore")
def test_sequences_on_postgresql(postgres_database: str) -> None:
    import psycopg

    def make() -> str:
        with psycopg.connect(postgres_database, autocommit=True) as connection:
            connection.execute("DROP SCHEMA IF EXISTS meanbounds CASCADE")
        return postgres_database

    check_sequences(make, 15)
