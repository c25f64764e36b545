"""What a sweep leaves in its folder."""

from pathlib import Path


def snapshot(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}
