"""Loss sequences: in their set, the same however they are cut, and as hard as they promise."""

import functools
import itertools
import pickle

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest

import decision_sets as ds
from dpcvx import DecisionSet, LossOutOfSetError, LossSet
from dpcvx.experiments.losses import (
    GENERATORS,
    altdrift,
    axes,
    coins,
    const,
    from_array,
    from_file,
    gap,
    late_riser,
    orthogonal,
    periodic,
    rotating,
    round_robin,
    switch,
)
from dpcvx.experiments.losses.extremes import random_vertex
from dpcvx.experiments.losses.sequence import choices

HORIZON = 150
DAG = nx.DiGraph([(0, 1), (0, 2), (1, 3), (2, 3), (1, 2), (3, 4), (2, 4), (5, 4)])
ROWS = np.random.default_rng(7).normal(size=(9, 4))


def declared(shape, constraints, **attributes):
    variable = cp.Variable(shape, **attributes)
    return LossSet(variable, constraints(variable))


def interval():
    x = cp.Variable()
    return DecisionSet(x, [x >= -1, x <= 2])


def box(n, lower=-1.0, upper=1.0):
    return declared(n, lambda v: [v >= lower, v <= upper])


# name: (decision set, loss set)
PAIRS = {
    "simplex, box": lambda: (ds.simplex(10), box(10)),
    "simplex, no symmetry": lambda: (
        ds.simplex(4),
        declared(4, lambda v: [v >= 0, v <= np.arange(1.0, 5), cp.sum(v) <= 5]),
    ),
    "ball, ball": lambda: (ds.norm_ball(4, 2), declared(4, lambda v: [cp.norm2(v) <= 2])),
    "ball, flat": lambda: (ds.norm_ball(4, 2), declared(4, lambda v: [cp.norm2(v) <= 1, cp.sum(v) == 0])),
    "cube, 1-ball": lambda: (ds.cube(5), declared(5, lambda v: [cp.norm1(v) <= 1])),
    "capped simplex, box": lambda: (ds.capped_simplex(7, 3), box(7, 0.0)),
    "flows, box": lambda: (ds.flow_polytope(DAG, 0, 4), box(8, 0.0)),
    "polytope, box": lambda: (ds.polytope(ROWS, np.ones(9), lower=-1, upper=2), box(4)),
    "density matrices, spectral ball": lambda: (
        ds.spectrahedron(3),
        declared((3, 3), lambda L: [cp.sigma_max(L) <= 1], symmetric=True),
    ),
    "density matrices, symmetric box": lambda: (
        ds.spectrahedron(3),
        declared((3, 3), lambda L: [L >= -1, L <= 1], symmetric=True),
    ),
    "nuclear ball, Frobenius ball": lambda: (
        ds.nuclear_ball(3, 2),
        declared((3, 2), lambda L: [cp.norm(L, "fro") <= 1]),
    ),
    "entropy ball, 3-ball": lambda: (
        ds.entropy_ball(5, 1.0),
        declared(5, lambda v: [cp.pnorm(v, 3, approx=False) <= 1]),
    ),
    "interval, interval": lambda: (interval(), declared((), lambda v: [v >= -1, v <= 1])),
    "simplex, a point": lambda: (ds.simplex(3), declared(3, lambda v: [v == 0.5])),
}


@functools.cache
def pair(name):
    return PAIRS[name]()


@functools.cache
def experts(n=10):
    return ds.simplex(n), box(n)


def whole(losses):
    return losses.block(0, losses.horizon)


# every generator on every pair of sets


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("name", PAIRS)
def test_every_loss_is_in_the_set(name, generator):
    X, Y = pair(name)
    losses = GENERATORS[generator](X, Y, HORIZON, seed=3)
    rows = whole(losses)
    assert losses.shape == Y.shape and rows.shape == (HORIZON, *Y.shape)
    for loss in np.unique(rows, axis=0):
        assert Y.contains(loss, 1e-9)


@pytest.mark.parametrize("generator", GENERATORS)
def test_the_shortest_sequences_exist(generator):
    X, Y = pair("simplex, box")
    for horizon in (1, 2, 3):
        losses = GENERATORS[generator](X, Y, horizon)
        assert len(losses) == losses.horizon == len(list(losses)) == horizon
        assert all(Y.contains(loss, 1e-9) for loss in losses)


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("name", ["cube, 1-ball", "simplex, no symmetry", "polytope, box", "ball, flat"])
def test_a_seed_fixes_the_losses_whatever_the_oracles_were_asked_before(name, generator):
    X, Y = pair(name)
    first = whole(GENERATORS[generator](X, Y, HORIZON, seed=5))
    rng = np.random.default_rng(0)
    for _ in range(3):
        X.argmin(rng.standard_normal(X.shape))
        Y.argmin(rng.standard_normal(Y.shape))
    assert np.array_equal(first, whole(GENERATORS[generator](X, Y, HORIZON, seed=5)))


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("name", ["simplex, box", "cube, 1-ball", "density matrices, spectral ball"])
def test_losses_do_not_depend_on_the_blocks(name, generator):
    X, Y = pair(name)
    horizon = 9000  # more than two stretches
    losses = GENERATORS[generator](X, Y, horizon, seed=2)
    rows = whole(losses)
    cuts = np.unique([0, horizon, *np.random.default_rng(1).integers(horizon, size=20)]).tolist()
    for start, stop in reversed(list(itertools.pairwise(cuts))):
        assert np.array_equal(losses.block(start, stop), rows[start:stop])
    assert np.array_equal(np.stack(list(losses)), rows)
    assert np.array_equal(whole(pickle.loads(pickle.dumps(losses))), rows)
    assert losses.block(7, 7).shape == (0, *Y.shape)
    assert not losses.block(3, 5).flags.writeable


@pytest.mark.parametrize("generator", sorted(GENERATORS.keys() - {"round_robin"}))
def test_another_seed_gives_other_losses(generator):
    X, Y = experts()
    made = [whole(GENERATORS[generator](X, Y, HORIZON, seed=seed)) for seed in range(10)]
    assert not all(np.array_equal(made[0], other) for other in made)


def test_wrong_arguments_are_named():
    X, Y = experts()
    for arguments, options, word in [
        ((0,), {}, "horizon"),
        ((10.5,), {}, "horizon"),
        ((10, -1), {}, "seed"),
        ((10,), {"drift": 11}, "drift must be at most the horizon 10, not 11"),
    ]:
        with pytest.raises(ValueError, match=word):
            altdrift(X, Y, *arguments, **options)
    with pytest.raises(ValueError, match="g must be between 0 and 1, not 2"):
        gap(X, Y, 10, g=2)
    with pytest.raises(ValueError, match="level"):
        periodic(X, Y, 10, level=0)
    with pytest.raises(ValueError, match="speed"):
        rotating(X, Y, 10, speed=np.nan)
    with pytest.raises(ValueError, match=r"Losses have shape \(3,\) and decisions \(10,\)"):
        const(X, box(3), 10)
    with pytest.raises(ValueError, match=r"block\(5, 11\) is not within the 10 rounds of coins"):
        coins(X, Y, 10).block(5, 11)


# what each is for


def test_const_is_the_price_of_noise_on_experts():
    rows = whole(const(*experts(), 50))
    assert np.array_equal(rows, np.broadcast_to(rows[0], rows.shape))
    assert sorted(rows[0]) == [-1] + 9 * [1]


@pytest.mark.parametrize("name", sorted(PAIRS.keys() - {"simplex, a point", "interval, interval"}))
def test_const_makes_a_vertex_better_than_the_center_by_as_much_as_the_set_allows(name):
    X, Y = pair(name)
    loss = whole(const(X, Y, 1, seed=4))[0]
    gain = np.sum(loss * X.center) + X.support(-loss)
    others = [Y.argmin(np.random.default_rng(k).standard_normal(Y.shape)) for k in range(20)]
    vertex = random_vertex(X, choices(4, "const"))
    assert gain > 0
    assert all(np.sum((X.center - vertex) * (loss - other)) >= -1e-7 for other in others)


def hedge_regret(losses, rate):
    total, incurred = np.zeros(losses.shape), 0.0
    for loss in losses:
        weights = np.exp(-rate * (total - total.min()))
        incurred += float(weights @ loss) / float(weights.sum())
        total += loss
    return incurred - total.min()


def test_altdrift_brings_hedge_to_its_bound():
    X, Y = experts()
    horizons = 2 ** np.arange(8, 17, 2)
    bounds = np.sqrt(2 * horizons * np.log(10))
    rates = np.sqrt(2 * np.log(10) / horizons)
    regrets = [hedge_regret(altdrift(X, Y, int(T)), rate) for T, rate in zip(horizons, rates, strict=True)]
    assert np.all(regrets >= 0.9 * bounds) and np.all(regrets <= bounds)
    slope = np.polyfit(np.log(horizons), np.log(regrets), 1)[0]
    assert 0.45 <= slope <= 0.58
    fast = hedge_regret(altdrift(X, Y, 4096), 100 * rates[2])
    slow = hedge_regret(altdrift(X, Y, 4096), rates[2] / 100)
    assert fast > 2 * bounds[2] and slow > 1.5 * bounds[2]


def test_altdrift_brings_gradient_descent_on_the_ball_to_its_bound():
    X, Y = ds.norm_ball(6, 2), declared(6, lambda v: [cp.norm2(v) <= 3])
    T = 4096
    total, incurred = np.zeros(6), 0.0
    for loss in altdrift(X, Y, T):
        incurred += loss @ X.project(-total / (3 * np.sqrt(T)))
        total += loss
    assert 0.9 <= (incurred + np.linalg.norm(total)) / (3 * np.sqrt(T)) <= 1


def test_altdrift_takes_the_length_of_its_drift():
    rows = whole(altdrift(*experts(4), 20, drift=5))
    assert np.array_equal(rows[0:15:2], np.broadcast_to(rows[0], (8, 4)))
    assert np.array_equal(rows[1:15:2], np.broadcast_to(-rows[0], (7, 4)))
    assert np.array_equal(rows[15:], np.broadcast_to(rows[15], (5, 4))) and sorted(rows[15]) == [-1, 1, 1, 1]


def test_coins_on_a_box_are_fair():
    X, Y = ds.simplex(6), box(6, np.arange(6.0), 3 + np.arange(6.0))
    rows = whole(coins(X, Y, 4096))
    assert np.all((rows == np.arange(6)) | (rows == 3 + np.arange(6)))
    # Hoeffding, six means of 4096 numbers in an interval of width 3: false alarm below 1e-6
    assert np.all(np.abs(rows.mean(axis=0) - np.arange(6) - 1.5) < 3 * np.sqrt(np.log(12e6) / (2 * 4096)))


@pytest.mark.parametrize("name", ["density matrices, spectral ball", "ball, flat", "entropy ball, 3-ball"])
def test_listed_coins_of_a_symmetric_set_are_balanced(name):
    X, Y = pair(name)
    rows = whole(coins(X, Y, 100_000))
    listed, counts = np.unique(rows, axis=0, return_counts=True)
    assert 100 <= len(listed) <= 128
    assert np.abs(listed.mean(axis=0)).max() < 1e-6
    # Hoeffding, at most 128 shares of 100,000 draws: false alarm below 1e-6
    assert np.abs(counts / 100_000 - 1 / 128).max() < np.sqrt(np.log(2 * 128e6) / 2e5)


def test_coins_on_a_ball_have_full_length():
    X, Y = pair("nuclear ball, Frobenius ball")
    assert np.allclose(np.linalg.norm(whole(coins(X, Y, 500)), axis=(1, 2)), 1)


def test_gap_gives_one_expert_its_advantage():
    rows = whole(gap(*experts(), 4096, g=0.5))
    sums = np.sort(rows.sum(axis=0))
    # the others lose 1 a round to it on average; Hoeffding, differences in an interval of width 2 (false alarm 1e-200)
    assert sums[1] - sums[0] > 0.5 * 4096
    assert np.array_equal(np.sort(whole(gap(*experts(), 50, g=1.0))[0]), [-1] + 9 * [1])
    assert gap(*experts(), 4096).name == "gap(0.0237)"


@pytest.mark.parametrize("name", ["simplex, box", "ball, ball", "capped simplex, box", "flows, box", "polytope, box"])
def test_switch_changes_the_best_vertex_at_half_time(name):
    X, Y = pair(name)
    rows = whole(switch(X, Y, 100))
    before, after = rows[:50].sum(axis=0), rows[50:].sum(axis=0)
    assert np.sum(before * X.argmin(after)) > np.sum(before * X.argmin(before)) + 1
    assert np.sum(after * X.argmin(before)) > np.sum(after * X.argmin(after)) + 1


def test_late_riser_wins_in_the_last_third_only():
    rows = whole(late_riser(*experts(), 3000))
    winner = int(np.argmin(rows[-1]))
    assert np.array_equal(rows[2000:], np.broadcast_to(rows[-1], (1000, 10)))
    # Hoeffding: 2000 fair coins sum to at least -260 but for 5e-8
    assert rows[:2000, winner].sum() > -260
    assert np.argmin(rows.sum(axis=0)) == winner


def test_periods_are_nodes_of_the_binary_tree():
    X, Y = ds.norm_ball(3, 2), declared(3, lambda v: [cp.norm2(v) <= 1])
    losses = periodic(X, Y, 100, level=3)
    rows = whole(losses)
    assert losses.name == "periodic(8)"
    assert np.array_equal(rows[:92], rows[8:])
    assert np.allclose(rows[:8].sum(axis=0), 0) and np.array_equal(rows[0], rows[3]) and np.allclose(rows[4], -rows[3])
    assert periodic(X, Y, 2**20).name == "periodic(1024)"


def test_rotating_turns_with_its_speed_in_a_plane():
    X, Y = pair("ball, ball")
    rows = whole(rotating(X, Y, 10_000, speed=0.02))
    assert np.linalg.matrix_rank(rows, tol=1e-6) == 2
    turned = np.arccos(np.clip(np.sum(rows[100:] * rows[:-100], axis=1) / 4, -1, 1))
    assert np.all(np.abs(turned - 2.0) < 2 * np.pi / 128 + 1e-6)
    assert np.linalg.norm(np.cumsum(rows, axis=0), axis=1).max() < 1.05 * 2 * 2 / 0.02


def test_orthogonal_losses_grow_like_the_root_of_time():
    X, Y = ds.norm_ball(5, 2), declared(5, lambda v: [cp.norm2(v) <= 2])
    losses = orthogonal(X, Y, 20_000, seed=3)
    rows = whole(losses)
    sums = np.cumsum(rows, axis=0)
    assert np.allclose(np.linalg.norm(rows, axis=1), 2)
    assert np.allclose(np.linalg.norm(sums, axis=1), 2 * np.sqrt(np.arange(1, 20_001)))
    assert np.abs(np.sum(rows[1:] * sums[:-1], axis=1)).max() < 1e-9
    assert np.array_equal(losses.block(8000, 8400), rows[8000:8400])


def test_axes_are_vertices_of_the_cross_polytope_with_equal_shares():
    X, Y = ds.cube(4), declared(4, lambda v: [cp.norm1(v) <= 3])
    rows = whole(axes(X, Y, 20_000))
    vertices, counts = np.unique(rows, axis=0, return_counts=True)
    assert len(vertices) == 8 and np.array_equal(np.abs(vertices).sum(axis=1), np.full(8, 3.0))
    # Hoeffding, 8 shares of 20,000 draws: false alarm below 1e-6
    assert np.abs(counts / 20_000 - 1 / 8).max() < np.sqrt(np.log(16e6) / 4e4)


def test_round_robin_visits_every_entry():
    X, Y = pair("cube, 1-ball")
    assert np.allclose(whole(round_robin(X, Y, 12)), np.eye(5)[np.arange(12) % 5], atol=1e-9)
    assert np.array_equal(whole(round_robin(*experts(4), 4)), 2 * np.eye(4) - 1)


def test_generators_for_one_shape_refuse_others():
    X, Y = experts(3)
    with pytest.raises(ValueError, match="Euclidean ball around the origin"):
        orthogonal(X, Y, 10)
    with pytest.raises(ValueError, match="1-norm ball around the origin"):
        axes(X, Y, 10)
    off_center = declared(3, lambda v: [cp.norm2(v - 1) <= 1])
    with pytest.raises(ValueError, match="Euclidean ball around the origin"):
        orthogonal(ds.norm_ball(3, 2), off_center, 10)
    line = declared(1, lambda v: [cp.norm2(v) <= 1])
    with pytest.raises(ValueError, match="orthogonal needs"):
        orthogonal(ds.norm_ball(1, 2), line, 10)


def test_a_million_rounds_need_no_memory():
    losses = coins(*experts(), 10**6)
    last = losses.block(10**6 - 3, 10**6)
    assert last.shape == (3, 10)
    assert losses._kept[1].nbytes < 2**20  # what is held: one stretch


# losses of one's own


def test_an_array_is_copied_and_kept_in_order():
    array = np.random.default_rng(0).uniform(-1, 1, size=(50, 10))
    losses = from_array(array, experts()[1])
    kept = array.copy()
    array[:] = np.nan
    assert np.array_equal(whole(losses), kept) and losses.shape == (10,)


def test_matrices_may_come_as_rows_column_by_column():
    _, Y = pair("nuclear ball, Frobenius ball")
    matrices = np.random.default_rng(0).uniform(-0.3, 0.3, size=(7, 3, 2))
    assert np.array_equal(whole(from_array(Y.flatten(matrices), Y)), matrices)
    assert np.array_equal(whole(from_array(matrices, Y)), matrices)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((4, 3)), r"shape \(3,\)"),
        (np.ones((0, 10)), "no losses"),
        (1.0, "no losses"),
        (np.ones((4, 10), dtype=complex), "complex128"),
        ([["a"] * 10], "real numbers"),
        (np.where(np.eye(10) == 0, 0.0, np.nan), r"row 0 .*entry \[0\]: nan"),
    ],
)
def test_a_wrong_array_is_refused_in_words(array, message):
    with pytest.raises(ValueError, match=message):
        from_array(array, experts()[1])


@pytest.mark.parametrize("name", ["simplex, box", "ball, ball", "cube, 1-ball", "density matrices, spectral ball"])
def test_a_loss_outside_the_set_is_named(name):
    _, Y = pair(name)
    rows = np.zeros((200, *Y.shape))
    rows[123] = 5.0
    with pytest.raises(LossOutOfSetError, match=r"row 123 .* is outside the loss set"):
        from_array(rows, Y)
    assert from_array(rows).horizon == 200


def test_files_give_the_losses_that_were_saved(tmp_path):
    rows = np.random.default_rng(0).uniform(-1, 1, size=(20, 3)).round(6)
    np.save(tmp_path / "losses.npy", rows)
    np.savez(tmp_path / "losses.npz", rows)
    np.savetxt(tmp_path / "losses.txt", rows, header="saved by NumPy")
    np.savetxt(tmp_path / "losses.csv", rows, delimiter=",", header="arm 1,arm 2,arm 3", comments="")
    lines = "\n\n".join(";".join(map(str, row)) for row in rows)
    (tmp_path / "semicolons.csv").write_text(f"\ufeffa;b;c\n{lines}\n", encoding="utf-8")
    for file in tmp_path.iterdir():
        losses = from_file(file, box(3))
        assert losses.name == file.name and losses.shape == (3,)
        assert np.allclose(whole(losses), rows, atol=1e-12)


def test_an_integer_file_is_read_as_numbers(tmp_path):
    np.save(tmp_path / "signs.npy", np.array([[1, -1], [-1, 1]]))
    assert whole(from_file(tmp_path / "signs.npy", box(2))).dtype == float


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "x,y\n1,2\n3,abc\n", "a.csv, line 3: 'abc' is not a finite number"),
        ("b.csv", "1,2\n3,nan\n", "b.csv, line 2: 'nan' is not a finite number"),
        ("c.txt", "1 2\n3\n", "c.txt, line 2: 1 numbers, but the lines before have 2"),
        ("d.txt", "1 2 3\n", r"d.txt holds losses of shape \(3,\), but those of the loss set have \(2,\)"),
        ("e.csv", "x,y\n", "no losses"),
        ("f.csv", "0,0\n0,2\n", "f.csv, row 1 .* is outside the loss set"),
        ("g.csv", "1,x\n", "g.csv, line 1: 'x' is not"),
        ("h.npy", "text", "h.npy could not be read"),
        ("i.npz", "text", "i.npz could not be read"),
        ("j.json", "[]", "must end in .npy, .npz, .csv or .txt"),
    ],
)
def test_a_wrong_file_is_refused_by_line_and_number(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        from_file(tmp_path / name, box(2))


def test_wrong_arrays_in_files_are_refused(tmp_path):
    np.savez(tmp_path / "two.npz", a=np.ones((2, 2)), b=np.ones((2, 2)))
    with pytest.raises(ValueError, match="must hold one array, but it holds 2: a, b"):
        from_file(tmp_path / "two.npz")
    np.save(tmp_path / "text.npy", np.array([["a"]]))
    with pytest.raises(ValueError, match="real numbers"):
        from_file(tmp_path / "text.npy")
    np.save(tmp_path / "nan.npy", np.array([[0.0, 1.0], [np.inf, 0.0]]))
    with pytest.raises(ValueError, match=r"nan.npy, row 1 \(counted from 0\), entry \[0\]: inf"):
        from_file(tmp_path / "nan.npy")
