"""Private routing on a road network: what a day is like, which routes are learnt, and what privacy costs."""
