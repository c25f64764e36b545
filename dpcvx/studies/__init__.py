"""Studies made with the package: what privacy costs, the tables of the paper, the demo and the audit."""
