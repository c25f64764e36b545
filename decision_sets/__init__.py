"""A catalogue of decision sets: each function declares one in a few lines of cvxpy and adds what only it knows."""

from decision_sets.balls import ellipsoid, norm_ball
from decision_sets.boxes import box, cube
from decision_sets.entropies import entropy_ball, kl_ball
from decision_sets.flows import flow_polytope
from decision_sets.matrices import nuclear_ball, spectrahedron, spectral_ball
from decision_sets.permutations import birkhoff, permutahedron
from decision_sets.polytopes import convex_hull, polytope
from decision_sets.simplices import capped_simplex, simplex
from decision_sets.transport import transport_polytope

__all__ = [
    "birkhoff",
    "box",
    "capped_simplex",
    "convex_hull",
    "cube",
    "ellipsoid",
    "entropy_ball",
    "flow_polytope",
    "kl_ball",
    "norm_ball",
    "nuclear_ball",
    "permutahedron",
    "polytope",
    "simplex",
    "spectrahedron",
    "spectral_ball",
    "transport_polytope",
]
