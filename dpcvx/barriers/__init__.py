"""Self-concordant barriers: one file for each cone, and their product.

The lines between the marks are the registry of cones, in the order in which cvxpy stacks their rows. A new cone is a
new file, and one line here.
"""

from dpcvx.barriers.cone import Cone as Cone
from dpcvx.barriers.product import Product as Product

# isort: off
from dpcvx.barriers.nonnegative import Nonnegative as Nonnegative
from dpcvx.barriers.second_order import SecondOrder as SecondOrder
from dpcvx.barriers.semidefinite import Semidefinite as Semidefinite
from dpcvx.barriers.exponential import Exponential as Exponential
from dpcvx.barriers.power import Power as Power
# isort: on

# every cone imported above, in the order of the lines
KINDS: tuple[type[Cone], ...] = tuple(
    kind for kind in list(globals().values()) if isinstance(kind, type) and issubclass(kind, Cone) and kind is not Cone
)
