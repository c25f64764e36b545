"""Shapes: one file for each, with all that is known about it. To add one is to add its file and its line below."""

from dpcvx.sets.shapes.box import Box, Point
from dpcvx.sets.shapes.ellipsoid import Ellipsoid
from dpcvx.sets.shapes.euclidean_ball import EuclideanBall, FlatBall
from dpcvx.sets.shapes.flow import Flow
from dpcvx.sets.shapes.hull import Hull
from dpcvx.sets.shapes.matrix_ball import MatrixBall
from dpcvx.sets.shapes.measure import Measure
from dpcvx.sets.shapes.norm_ball import NormBall
from dpcvx.sets.shapes.polytope import Polytope
from dpcvx.sets.shapes.shape import Facts, GridChange, Shape
from dpcvx.sets.shapes.simplex import CappedSimplex, Simplex
from dpcvx.sets.shapes.simplex_product import SimplexProduct
from dpcvx.sets.shapes.spectrahedron import Spectrahedron

SHAPES: tuple[type[Shape], ...] = (  # the first that fits is taken; the last fits every set
    Point,
    Box,
    Simplex,
    SimplexProduct,
    CappedSimplex,
    EuclideanBall,
    FlatBall,
    Ellipsoid,
    NormBall,
    MatrixBall,
    Spectrahedron,
    Hull,
    Flow,
    Polytope,
    Shape,
)


def recognise(facts: Facts) -> Shape:
    """What a set is."""
    return next(shape for kind in SHAPES if (shape := kind.of(facts)) is not None)


__all__ = ["SHAPES", "Facts", "GridChange", "Measure", "Shape", "recognise"]
