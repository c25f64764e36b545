"""Road networks from files and graphs, and decision sets of the routes through them."""

from decision_sets.networks.excluded import Excluded, RoutesWarning
from decision_sets.networks.network import Network
from decision_sets.networks.reading import as_network, read_network
from decision_sets.networks.routes import Routes, routes

__all__ = ["Excluded", "Network", "Routes", "RoutesWarning", "as_network", "read_network", "routes"]
