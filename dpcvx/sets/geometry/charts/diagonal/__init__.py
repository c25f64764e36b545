"""The diagonal chart: bounds on single coordinates, with a few equalities, dense rows and axis-parallel balls.

A round costs O(N). The Hessian is H = D + U U' with D diagonal and few columns U. With V = D^-1/2 U and
F = D^1/2 (I + V V')^1/2 one has H = F F', and the tangent space {d : E d = 0} is {F'^-1 w : w orthogonal to the rows of
E F'^-1}, which a few reflections straighten.
"""

from dpcvx.sets.geometry.charts.diagonal.chart import DiagonalChart

__all__ = ["DiagonalChart"]
