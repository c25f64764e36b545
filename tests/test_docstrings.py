"""Every public name says what it is for, and shows it by an example that runs as it is printed."""

import doctest
import inspect

import pytest

import decision_sets
import dpcvx

HOMES = {"dpcvx": dpcvx, "decision_sets": decision_sets}


def public_names():
    """The names of functions and classes that users call by dpcvx.<name> or decision_sets.<name>."""
    for name in dpcvx.__all__:
        if callable(getattr(dpcvx, name)):
            yield f"dpcvx.{name}"
    for name, value in vars(decision_sets).items():
        if callable(value) and not name.startswith("_"):
            yield f"decision_sets.{name}"


def examples_of(thing, name="it"):
    """The example in the docstring itself, not those of its methods."""
    return doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", {}, name, None, None)


def failures(thing):
    """What the example prints that it should not, in words; an empty text where all is well."""
    words = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(examples_of(thing), out=words.append)
    return "".join(words)


@pytest.mark.parametrize("name", sorted(public_names()))
def test_a_public_name_has_an_example_that_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    home, _, short = name.partition(".")
    thing = getattr(HOMES[home], short)
    assert examples_of(thing).examples, f"{name} has no example"
    assert failures(thing) == ""


def test_an_example_that_is_wrong_is_found():
    def wrong():
        """
        >>> 1 + 1
        3
        """

    def silent():
        """Nothing to see."""

    assert "Expected" in failures(wrong)
    assert not examples_of(silent).examples
