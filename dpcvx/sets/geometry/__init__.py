"""The geometry of a conic set: its interior, analytic center, charts, Dikin ellipsoid and certified bounds."""
