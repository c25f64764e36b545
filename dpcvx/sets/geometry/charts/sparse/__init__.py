"""The sparse chart: bounds on single coordinates and many sparse equalities, as flows and transport plans have them.

The Hessian is a diagonal D; with W = D^-1, R = W^1/2 and the equalities E d = 0 of the tangent space the system

    S = E W E'

is sparse, and one factorisation of it serves a point: for a covector g, a normal vector n and y, y' with S y = E W g,
S y' = E R n,

    H^-1 g = W (g - E'y),    u = n - R E'y' is normal on the straightened tangent space { u : E R u = 0 },

R u is the displacement of u and R^-1 u the covector that measures it. There is no triangle C of dimension dim: what
needs one is made with dense matrices, up to the size where those are made.
"""

from dpcvx.sets.geometry.charts.sparse.chart import SparseChart
from dpcvx.sets.geometry.charts.sparse.coinciding import weigh_coinciding

__all__ = ["SparseChart", "weigh_coinciding"]
