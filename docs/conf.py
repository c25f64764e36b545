"""How the documentation is built: `sphinx-build -W docs docs/_build/html`, with the package installed."""

import sys
from pathlib import Path

from dpcvx.version import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))  # not the package: what is installed is what is documented

project = "dpcvx"
author = copyright = "dpcvx developers"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.doctest",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "public_names",
]
exclude_patterns = ["_build", "scripts", "templates"]
templates_path = ["templates"]

# Every reference leads somewhere; names of other packages are known by their first words, without their inventories.
nitpicky = True
nitpick_ignore_regex = [
    (r"py:.*", r"(numpy|np|cvxpy|cp|scipy|collections|typing|types|os|pathlib|matplotlib|pandas|networkx)\..*"),
    (r"py:.*", r"(Any|Array|ArrayLike|Bools|PathLike|Callable|Iterable|Mapping|Sequence|Self|TypeVar|Generator)"),
    (r"py:.*", r"(ABC|abc\.ABC|optional)"),
    (r"py:.*", r"(dict|list|tuple|str|int|float|bool|object|type|None|Exception|array.*|.*Error)"),
    (r"py:.*", r"(dpcvx|decision_sets)\.[a-z_]+\..*"),  # parts of the package that have no page of their own
]

# text
myst_enable_extensions = ["deflist", "dollarmath", "fieldlist", "colon_fence"]
myst_heading_anchors = 3
default_role = "public"
math_renderer = html_math_renderer = "mathml"

# reference
autosummary_generate = True
autodoc_typehints = "signature"
autodoc_typehints_format = "fully-qualified"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
add_module_names = False
napoleon_numpy_docstring = False
napoleon_use_param = False  # lists of names, since docstrings explain several names in one line
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style"), ("Raises", "params_style")]

# examples in pages and docstrings
doctest_global_setup = """
import warnings
import cvxpy as cp
import numpy as np
import decision_sets
import dpcvx
warnings.simplefilter("error")
"""

# scripts that are run, and shown with what they print and draw
sphinx_gallery_conf = {
    "examples_dirs": ["scripts/tutorials", "scripts/how_it_works"],
    "gallery_dirs": ["tutorials", "how_it_works"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "capture_repr": (),
}

# pages
html_theme = "pydata_sphinx_theme"
html_title = "dpcvx"
html_static_path = ["static"]
html_css_files = ["dpcvx.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"changelog": [], "glossary": [], "choose": [], "benchmarks": [], "extend": [], "index": []}
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "logo": {"text": "dpcvx"},
}
