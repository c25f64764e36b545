"""A catalogue of sets: each function declares one in a few lines of cvxpy and adds what only it knows."""

from decision_sets.balls import ellipsoid as ellipsoid
from decision_sets.balls import norm_ball as norm_ball
from decision_sets.boxes import box as box
from decision_sets.boxes import cube as cube
from decision_sets.changes import NAMED_CHANGES as NAMED_CHANGES
from decision_sets.changes import few_entries as few_entries
from decision_sets.changes import one_path as one_path
from decision_sets.changes import share as share
from decision_sets.entropies import entropy_ball as entropy_ball
from decision_sets.entropies import kl_ball as kl_ball
from decision_sets.flows import flow_polytope as flow_polytope
from decision_sets.losses import NAMED_LOSSES as NAMED_LOSSES
from decision_sets.losses import loss_ball as loss_ball
from decision_sets.losses import loss_box as loss_box
from decision_sets.matrices import nuclear_ball as nuclear_ball
from decision_sets.matrices import spectrahedron as spectrahedron
from decision_sets.matrices import spectral_ball as spectral_ball
from decision_sets.named import NAMED as NAMED
from decision_sets.permutations import birkhoff as birkhoff
from decision_sets.permutations import permutahedron as permutahedron
from decision_sets.polytopes import convex_hull as convex_hull
from decision_sets.polytopes import polytope as polytope
from decision_sets.portfolios import portfolio as portfolio
from decision_sets.simplices import capped_simplex as capped_simplex
from decision_sets.simplices import simplex as simplex
from decision_sets.transport import transport_polytope as transport_polytope
