"""How long `import dpcvx` takes, over `import cvxpy`, which it needs: processor time of fresh processes.

python benchmarks/imports.py            the goal is below 1.3
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile

GOAL = 1.3


def seconds(module: str, cache: str) -> float:
    """Processor time of a process that imports a module and ends."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9, help="processes of each kind (9)")
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as cache:
        seconds("cvxpy, dpcvx", cache)  # compiles what an installation has compiled
        pairs = [(seconds("cvxpy", cache), seconds("dpcvx", cache)) for _ in range(repeats)]
    alone, whole = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"import cvxpy {alone:.2f} s, import dpcvx {whole:.2f} s: {whole / alone:.2f} times (goal {GOAL})")
    return int(whole > GOAL * alone)


if __name__ == "__main__":
    sys.exit(main())
