"""Self-concordant barriers: one file for each cone, and their product. A new cone is a new file, and its line below."""

from dpcvx.barriers.cone import Cone
from dpcvx.barriers.exponential import Exponential
from dpcvx.barriers.nonnegative import Nonnegative
from dpcvx.barriers.power import Power
from dpcvx.barriers.product import Product
from dpcvx.barriers.second_order import SecondOrder
from dpcvx.barriers.semidefinite import Semidefinite

KINDS: tuple[type[Cone], ...] = (  # in the order in which cvxpy stacks their rows
    Nonnegative,
    SecondOrder,
    Semidefinite,
    Exponential,
    Power,
)

__all__ = ["KINDS", "Cone", "Exponential", "Nonnegative", "Power", "Product", "SecondOrder", "Semidefinite"]
