"""Self-concordant barriers: one file for each cone, and their product."""

from dpcvx.barriers.cone import Cone
from dpcvx.barriers.exponential import Exponential
from dpcvx.barriers.nonnegative import Nonnegative
from dpcvx.barriers.power import Power
from dpcvx.barriers.product import Product
from dpcvx.barriers.second_order import SecondOrder
from dpcvx.barriers.semidefinite import Semidefinite

__all__ = ["Cone", "Exponential", "Nonnegative", "Power", "Product", "SecondOrder", "Semidefinite"]
