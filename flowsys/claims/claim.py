"""Claims: what a paper says, declared once, and the verdict that follows by rule.

    Claim("E.3", "Lemma E.3", "T_2 - T_1 = O(log 1/ω)",
          Order("O", lambda p: log(1 / p.omega)), lambda run: run.time("T_2") - run.p.T_1,
          path=Path("omega", (0.3, 0.1, 0.03, 0.01)))

A claim names its place in the paper and states it in one line. Its *kind* has the rule from measurements to a word; its
*measure* gets a kit (`flowsys.claims.kit`) at each of its places: `at` (one set of parameters, or several) and along
its *path*; its *regime* says where the statement is made. Whose it is and what it is (theorem, display, proof step …)
are counted apart; a sharper law of ours `sharpens` the paper's claim and stands as a line under it.

Each packaged claim has a *control*: the same check with something changed, where the verdict must be another one. Its
names are fields of the claim (`kind`, `at`, `path`, `mode`, `regime`) or arguments of its measurement.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from flowsys.claims.conditions import DEFAULT, Conditions
from flowsys.claims.numbering import numbers_of, places, source_of
from flowsys.claims.provable import Provable
from flowsys.claims.regime import Path, Regime
from flowsys.claims.verdict import Verdict, Word, untested, without_gaps
from flowsys.errors import InputError
from flowsys.system import FINITE, System

GRADES = ("harmless", "affects a statement")
CONTROLLED = ("kind", "at", "path", "mode", "regime")
SOURCES = ("theorem", "lemma", "display", "printed construction", "proof step", "remark", "figure", "experiment")


@dataclass(frozen=True)
class Erratum:
    """What is wrong as printed, where its claim does not hold: the printed and the corrected form, and its grade.

    `corrected_by` is the id of the claim that measures the corrected form.
    """

    printed: str
    corrected: str
    grade: str = "harmless"
    corrected_by: str = ""

    def __post_init__(self):
        if self.grade not in GRADES:
            raise ValueError(f"grade = {self.grade} is not one of {', '.join(GRADES)}")


@dataclass(frozen=True)
class Claim:
    """A statement, its kind, and how it is measured (see the module).

    `levels` are the levels at which it can be asked for (all of the system's, if none are named), `takes` the
    parameters that may be set (all that it does not set along its path). `note` is a text with {names} of values and
    parameters in it. `is_cheap` marks what runs within about a second. A claim that is not testable has no measure,
    and `reason` says why; `control_note` says why a control cannot change the verdict. `provable` are the statements
    that say it at one set of parameters, for `--prove`.
    """

    id: str
    place: str
    statement: str
    kind: Any = None
    measure: Callable[..., Any] | None = None
    at: Mapping[str, Any] | Sequence[Mapping[str, Any]] = field(default_factory=dict)
    path: Path | None = None
    regime: Regime = field(default_factory=Regime)
    whose: str = ""
    what: str = ""
    sharpens: str = ""
    mode: str | None = None
    levels: str | tuple[str, ...] = ()
    takes: str | tuple[str, ...] | None = None
    variants: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    control: Mapping[str, Any] | Callable[..., Any] | None = None
    control_note: str = ""
    is_cheap: bool = True
    reason: str = ""
    erratum: Erratum | None = None
    provable: Provable | None = None

    def __post_init__(self):
        if (self.measure is None) == (not self.reason):
            raise ValueError(f"claim {self.id}: give a measure, or a reason why there is none")
        if self.measure is not None and self.kind is None:
            raise ValueError(f"claim {self.id}: give its kind")
        if str(getattr(self.kind, "name", "")).startswith("order") and self.path is None and not self._is_series:
            raise ValueError(f"claim {self.id}: an order is judged along a path")
        for name in ("levels", "takes"):
            if isinstance(given := getattr(self, name), str):
                object.__setattr__(self, name, tuple(given.split()))
        is_ours = "[ours]" in self.place or bool(self.sharpens)
        object.__setattr__(self, "whose", self.whose or ("ours" if is_ours else "paper"))
        object.__setattr__(self, "what", self.what or source_of(self.place))
        if self.whose not in ("paper", "ours") or self.what not in SOURCES:
            raise ValueError(f"claim {self.id}: whose is paper or ours, what one of {', '.join(SOURCES)}")

    @property
    def _is_series(self) -> bool:
        return bool(getattr(self.kind, "along", ""))

    @property
    def number(self) -> str:
        """The paper's number, the first if it cites several."""
        return next(iter(numbers_of(self.place)), "")

    def answers_to(self, name: str, by_section: bool = False) -> bool:
        """Whether the claim goes by this id, place or number of the paper (of sections too, if `by_section`)."""
        wanted = name.strip()
        known = {self.id, self.place, *numbers_of(self.place, of_statements=not by_section)}
        return wanted in known or bool(set(places(wanted)) & set(places(self.place)))

    @property
    def is_declared(self) -> bool:
        """Whether the verdict follows by the rule of a kind."""
        return self.measure is not None

    def controlled(self) -> "Claim":
        """The claim whose verdict must be another one."""
        if self.control is None:
            raise ValueError(f"claim {self.id} has no control")
        if callable(self.control):
            return replace(self, measure=self.control)
        changed = {name: value for name, value in self.control.items() if name in CONTROLLED}
        passed = {name: value for name, value in self.control.items() if name not in CONTROLLED}
        measure = partial(self.measure, **passed) if passed and self.measure else self.measure
        return replace(self, **changed, measure=measure)

    def refusal(self, system: System, conditions: Conditions) -> str:
        """Why the claim cannot be measured under these conditions, in a sentence; empty if it can."""
        levels = self.levels or (tuple(system.levels) if self.is_declared else ())
        if conditions.level is not None and conditions.level not in levels:
            can = f"it can at {' and '.join(levels)}" if levels else "only where it is stated"
            where = f" ({self.regime})" if str(self.regime) else ""
            return f"claim {self.id} cannot be measured at level {conditions.level}, {can}{where}."
        for name, value in conditions.constants:
            if name not in self.regime.constants:
                has = f"it has {', '.join(self.regime.constants)}" if self.regime.constants else "it has none"
                return f"claim {self.id} has no hidden constant {name} = {value:g}: {has}."
        takes = self.taken(system)
        finite = ("width", "seed", "learning_rate") if conditions.is_finite else ()
        for name, value in conditions.parameters:
            if name not in (*takes, *finite):
                can = f"it takes {', '.join(takes)}" if takes else "it sets its parameters itself"
                return f"claim {self.id} cannot be measured with {name} = {value}: {can}."
        if conditions.seeds is not None and not conditions.is_finite:
            there = [level for level in levels if level in FINITE]
            can = f"give --level {' or '.join(there)}" if there else "it can be measured only where it is stated"
            return f"claim {self.id} has no seeds = {conditions.seeds} to measure here: {can}."
        return ""

    def taken(self, system: System) -> tuple[str, ...]:
        """The parameters that may be set."""
        if self.takes is not None or not self.is_declared:
            return tuple(self.takes or ())
        follows = self.path.sets if self.path else set()
        is_limit = system.default_level not in FINITE
        return tuple(p.name for p in system.parameters if p.name not in follows
                     and not (is_limit and p.name in ("width", "seed", "learning_rate")))  # fmt: skip

    def check(self, system: System, conditions: Conditions = DEFAULT) -> Verdict:
        """The verdict, measured now; over several seeds it holds if it does for each."""
        if self.measure is None:
            return untested(self.reason)
        if conditions.is_default:
            return self._measured(system, conditions)
        if refused := self.refusal(system, conditions):
            return untested(refused)
        regime = self.regime
        for name, value in conditions.constants:
            regime = regime.with_constant(name, value)
        there = self if regime is self.regime else replace(self, regime=regime)
        return there._over(system, conditions)

    def _over(self, system: System, conditions: Conditions) -> Verdict:
        """The verdict at each of the seeds asked for, put together."""
        try:
            verdicts = []
            for seed in range(conditions.seeds or 1):
                seeded = (("seed", seed),) if conditions.seeds else ()
                there = Conditions(conditions.level, None, (*conditions.parameters, *seeded))
                verdicts.append(self._measured(system, there))
        except InputError as error:
            return untested(str(error))
        found = verdicts[0] if len(verdicts) == 1 else _over_seeds(verdicts)
        return replace(found, parameters={**found.parameters, **conditions.as_dict()})

    def _measured(self, system: System, conditions: Conditions) -> Verdict:
        from flowsys.claims.judging import judgement

        return without_gaps(judgement(self, system, conditions))


def _over_seeds(verdicts: Sequence[Verdict]) -> Verdict:
    first, words = verdicts[0], [v.word for v in verdicts]
    word = words[0] if len(set(words)) == 1 else Word.IN_PART
    return replace(
        first,
        word=word,
        measured=f"holds for {words.count(Word.HOLDS)} of {len(words)} seeds; the first: {first.measured}",
        values={"seeds": [v.as_dict()["values"] for v in verdicts]},
    )
