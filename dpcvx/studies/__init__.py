"""Studies made with the package: what privacy costs, the tables of the paper, the demo and the audit.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""
