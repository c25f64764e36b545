"""Results as pandas DataFrames, for those who have pandas."""

import importlib
from typing import Any


def data_frame(content: Any) -> Any:
    """A pandas DataFrame of columns by name, or of rows.

    Raises:
        ImportError: where pandas is not installed.
    """
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError("to_pandas needs pandas, which is not installed: pip install pandas.") from error
    return pandas.DataFrame(content)
