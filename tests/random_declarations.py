"""Random declarations made from the atoms that cvxpy ships: a number becomes a variable and constraints on it.

    declaration = random_declaration(17)
    DecisionSet(declaration.variable, declaration.constraints)

Each is made twice from the same draws: as a user writes it, with units between 1e-6 and 1e6 for each entry, offsets and
attributes; and in plain units, x = offset + units z, with flat pieces spelt out as equalities, for a solver to judge.

python tests/random_declarations.py 17 prints one.
"""

import sys
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from random_atoms import ATOMS
from random_faces import AUXILIARIES, FACES, MATRIX_FACES, Constraints, Pair
from random_scene import Scene

KINDS = ("mixture", "face", "two faces", "auxiliary", "empty", "unbounded", "point", "matrix face")
_CHANCES = (0.52, 0.1, 0.06, 0.15, 0.05, 0.05, 0.02, 0.05)


@dataclass(frozen=True)
class Declaration:
    """A declaration, and the same one in plain units.

    Attributes:
        seed: from which it was made.
        kind: of `KINDS`.
        pieces: the names of its constraints' atoms.
        variable, constraints: as a user writes them.
        plain, plain_constraints: in plain units, flat pieces spelt out.
        written: the constraints in plain units as a user writes them.
        units, offset: x = offset + units z, in the shape of the variable.
        anchor: a point z at which all constraints hold, unless the kind is empty.
        has_auxiliaries: whether the constraints mention further variables.
    """

    seed: int
    kind: str
    pieces: tuple[str, ...]
    variable: cp.Variable
    constraints: Constraints
    plain: cp.Variable
    plain_constraints: Constraints
    written: Constraints
    units: np.ndarray
    offset: np.ndarray
    anchor: np.ndarray
    has_auxiliaries: bool

    def to_plain(self, x: np.ndarray) -> np.ndarray:
        return (x - self.offset) / self.units

    def from_plain(self, z: np.ndarray) -> np.ndarray:
        return self.offset + self.units * z

    def __str__(self) -> str:
        given = {k: v for k, v in self.variable.attributes.items() if v is not None and v is not False}
        head = (
            f"seed {self.seed}: {self.kind} of {', '.join(self.pieces)}\nx = Variable({self.variable.shape}, {given})"
        )
        return "\n".join([head, *(f"    {c}" for c in self.constraints)])


def random_declaration(seed: int, kind: str | None = None) -> Declaration:
    """The declaration of a seed; `kind` asks for one of `KINDS`."""
    rng = np.random.default_rng([14, seed])
    drawn = str(rng.choice(KINDS, p=_CHANCES))
    kind = kind or drawn
    shape, attributes, anchor = _variable(rng, kind)
    units, offset = _units(rng, shape, attributes, kind)
    chosen = int(rng.integers(2**63))
    plain = cp.Variable(shape, name="z", **attributes)
    first = Scene(np.random.default_rng(chosen), plain, anchor)
    plain.save_value(anchor)
    pairs, pieces = _play(first, kind)
    written = [c for mine, _ in pairs for c in mine]
    judged = [c for _, same in pairs for c in same]
    variable = cp.Variable(shape, name="x", **_in_units(attributes, units, offset))
    z = variable if (units == 1).all() and not offset.any() else cp.multiply(1 / units, variable) - offset / units
    if variable.is_symmetric() and len(shape) == 2 and not z.is_symmetric():
        z = cp.symmetric_wrap(z)
    second = Scene(np.random.default_rng(chosen), z, anchor, first.levels, reading=True)
    mine = [c for written_again, _ in _play(second, kind)[0] for c in written_again]
    for each in (plain, *first.auxiliaries, *second.auxiliaries):
        each.save_value(None)
    return Declaration(
        seed=seed,
        kind=kind,
        pieces=tuple(pieces),
        variable=variable,
        constraints=mine,
        plain=plain,
        plain_constraints=judged,
        written=written,
        units=units,
        offset=offset,
        anchor=anchor,
        has_auxiliaries=bool(first.auxiliaries),
    )


def _variable(rng: np.random.Generator, kind: str) -> tuple[tuple[int, ...], dict[str, Any], np.ndarray]:
    """A shape, attributes that fit it, and an anchor that fits both."""
    if kind == "matrix face":
        k = int(rng.integers(2, 4))
        return (k, k), {str(rng.choice(["PSD", "symmetric"])): True}, np.zeros((k, k))
    form = rng.choice(["scalar", "vector", "square", "table"], p=[0.08, 0.64, 0.2, 0.08])
    if form == "square":
        k = int(rng.integers(2, 4))
        attribute = str(rng.choice(["symmetric", "PSD", "NSD", "diag", "none"]))
        F = rng.standard_normal((k, k)) * 0.5
        anchor = F + F.T
        if attribute in ("PSD", "NSD"):
            anchor = (F @ F.T + 0.4 * np.eye(k)) * (1 if attribute == "PSD" else -1)
        if attribute == "diag":
            anchor = np.diag(rng.uniform(-1, 1, k))
        return (k, k), {} if attribute == "none" else {attribute: True}, anchor
    shape = {"scalar": (), "vector": (int(rng.integers(1, 8)),), "table": (2, 3)}[str(form)]
    attribute = str(rng.choice(["none", "nonneg", "nonpos", "bounds", "pos"], p=[0.6, 0.2, 0.06, 0.1, 0.04]))
    anchor = rng.uniform(-1, 1, shape)
    if attribute in ("nonneg", "pos"):
        return shape, {attribute: True}, np.asarray(rng.uniform(0.3, 1.5, shape))
    if attribute == "nonpos":
        return shape, {"nonpos": True}, np.asarray(-rng.uniform(0.3, 1.5, shape))
    if attribute == "bounds":
        low, high = np.asarray(anchor - rng.uniform(0.3, 2, shape)), np.asarray(anchor + rng.uniform(0.3, 2, shape))
        return shape, {"bounds": [low, high]}, np.asarray(anchor)
    return shape, {}, np.asarray(anchor)


def _units(
    rng: np.random.Generator, shape: tuple[int, ...], attributes: dict[str, Any], kind: str
) -> tuple[np.ndarray, np.ndarray]:
    """Units between 1e-6 and 1e6 and an offset that respect the attributes; half of the declarations have none."""
    spread = float(rng.choice([0.0, 1.0, 3.0, 6.0], p=[0.5, 0.2, 0.15, 0.15]))
    exact = rng.random() < 0.5  # powers of two
    base = 2.0 if exact else 10.0
    spread = float(np.rint(spread * np.log2(10))) if exact else spread
    exponents = rng.uniform(-spread, spread, shape)
    if {"symmetric", "PSD", "NSD"} & set(attributes):
        d = rng.uniform(-spread / 2, spread / 2, shape[0])
        d = np.rint(d) if exact else d
        exponents = d[:, None] + d[None, :]
    units = base ** (np.rint(exponents) if exact else exponents)
    far = float(rng.choice([0.0, 1.0, 30.0, 1000.0 if kind == "mixture" else 3.0], p=[0.6, 0.2, 0.1, 0.1]))
    offset = far * units * rng.uniform(-1, 1, shape)
    if set(attributes) - {"bounds"}:
        offset = np.zeros(shape)
    return np.asarray(units), np.asarray(offset)


def _in_units(attributes: dict[str, Any], units: np.ndarray, offset: np.ndarray) -> dict[str, Any]:
    if "bounds" not in attributes:
        return attributes
    return {"bounds": [np.asarray(offset + units * end) for end in attributes["bounds"]]}


def _play(s: Scene, kind: str) -> tuple[list[Pair], list[str]]:
    """The constraints of a kind, as they are written and as they are judged, and their names."""
    pairs: list[Pair] = []
    names: list[str] = []

    def add(name: str, constraints: Constraints, judged: Constraints | None = None) -> None:
        pairs.append((constraints, constraints if judged is None else judged))
        names.append(name)

    def draw(table: dict[str, Any]) -> tuple[str, Any]:
        name = str(s.rng.choice(list(table)))
        return name, table[name]

    if kind == "matrix face":
        name, face = draw(MATRIX_FACES)
        add(name, *face(s))
        add("trace", [cp.trace(s.z) <= s.anchor.shape[0]])
        if "PSD" not in s.z.variables()[0].attributes or not s.z.variables()[0].attributes["PSD"]:
            add("semidefinite", [s.z >> 0])
        return pairs, names
    if kind == "auxiliary":
        name, make = draw(AUXILIARIES)
        add(name, *make(s))
    elif kind != "unbounded":
        add("bound", _bounded(s))
    if kind == "point":
        add("equality", [s.flat == s.at])
    for _ in range({"face": 1, "two faces": 2}.get(kind, 0)):
        name, face = draw(FACES)
        add(name, *face(s))
    most = 3 if kind in ("mixture", "unbounded", "empty") else 2
    for _ in range(int(s.rng.integers(kind == "mixture" or kind == "unbounded", most + 1))):
        name, make = draw(ATOMS)
        add(name, s.below(make(s)))
    if s.size > 1 and s.rng.random() < 0.2:
        A = s.rows(1)
        add("equality", [A @ (s.flat - s.at) == 0])
    if kind == "empty":
        a = s.rows(1)[0]
        far = float(s.rng.uniform(1, 10)) * 40
        name, make = draw(ATOMS)
        f = make(s)
        add("contradiction", [a @ (s.flat - s.at) >= far] if s.rng.random() < 0.5 else [cp.sum(f) <= -far])
    return pairs, names


def _bounded(s: Scene) -> Constraints:
    """A compact set around the anchor."""
    r = float(s.rng.choice([0.5, 1.0, 2.0])) * float(s.rng.uniform(0.7, 1.4))
    step = s.flat - s.at
    how = s.rng.integers(8)
    if how == 0:
        return [step <= r, step >= -r * s.rng.uniform(0.5, 1.5, s.size)]
    if how == 1:
        return [cp.norm1(step) <= 2 * r]
    if how == 2:
        return [cp.norm_inf(step) <= s.number(r)]
    if how == 3:
        F = s.rng.standard_normal((s.size, s.size)) / np.sqrt(s.size)
        return [cp.quad_form(step, np.asarray(F.T @ F + 0.2 * np.eye(s.size))) <= r]
    if how == 4:
        p = float(s.rng.choice([1.5, 3, 3.3, 4]))
        return [cp.pnorm(step, p, approx=bool(s.rng.integers(2))) <= r]
    if how == 5:
        return [cp.sum_squares(step) <= r]
    if how == 6:
        return [cp.SOC(cp.Constant(r), step)]
    return [cp.norm2(step) <= s.number(r)]


if __name__ == "__main__":
    print(random_declaration(int(sys.argv[1])))
