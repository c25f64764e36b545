"""The report on the price of privacy: the same tables as on the terminal, with pictures, declarations and claims."""

from matplotlib.figure import Figure

from dpcvx.learners import FTRL, private_bandit
from dpcvx.markup import Html
from dpcvx.privacy import Certificate, Change
from dpcvx.report.figures import figure, side_by_side
from dpcvx.report.page import Page, table
from dpcvx.report.sections import certificate, declaration, reproduce
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.studies.price import PriceOfPrivacy
from dpcvx.studies.price.comparison import Comparison
from dpcvx.studies.price.contenders import PRIVATE, WITHOUT
from dpcvx.studies.settings import BANDIT

_PANEL = (5.0, 4.2)  # inches


def price_page(found: PriceOfPrivacy, X: DecisionSet, Y: LossSet, comparison: Comparison, command: str) -> Page:
    """The page on what was found for X, Y and the comparison; `command` makes it again."""
    first, *sentences = found.recommendation.splitlines()
    page = Page("The price of privacy", f"Decisions in the {X.name}, losses in the {Y.name}.")
    page.add("Recommendation", *sentences, first)
    page.add("Regret over epsilon", side_by_side(*(_picture(found, setting) for setting in found.settings)))
    for setting in found.settings:
        header, *lines = found.table(setting)
        page.add(f"Table: {setting}", table(header, lines, found.learners(setting)), found.legend)
    page.add("Where decisions lie", declaration(X))
    page.add("What a loss may be", declaration(Y))
    if isinstance(comparison.neighbours, Change):
        page.add(
            "What one person can change", table((), comparison.neighbours.rows(), "what was declared of the change")
        )
    page.add(
        "What a learner promises",
        "All curves above are simulations. This is what a learner without a seed claims.",
        *(certificate(_claim(X, Y, comparison, setting)) for setting in found.settings),
    )
    return page.add("To get this report again", reproduce([command]))


def _picture(found: PriceOfPrivacy, setting: str) -> Html:
    drawn = Figure(figsize=_PANEL, layout="constrained")
    found.plot(drawn.add_subplot(), setting=setting)
    horizon = found.horizons[-1]
    learned = found.row(setting, WITHOUT, horizon).regret
    wanted = (setting, PRIVATE, horizon)
    private = [row.regret for row in found.rows if (row.setting, row.role, row.horizon) == wanted]
    return figure(
        drawn,
        alternative=f"Regret over epsilon, {setting}, {horizon} rounds: without privacy {learned:.3g}; "
        f"private {private[0]:.3g} at the least epsilon and {private[-1]:.3g} at the largest.",
        caption="Mean over the replicas on the worst losses tried; the band holds nine tenths of the runs.",
    )


def _claim(X: DecisionSet, Y: LossSet, comparison: Comparison, setting: str) -> Certificate:
    """The certificate of the private learner over the longest horizon, at the epsilon nearest to 1."""
    epsilon = min(comparison.epsilons, key=lambda one: abs(one - 1))
    if setting == BANDIT:
        return private_bandit(X, Y, comparison.horizons[-1], epsilon, neighbours=comparison.neighbours).certificate
    rounds, by = comparison.horizons[-1], comparison.neighbours
    return FTRL(X, Y, rounds, epsilon, comparison.delta, neighbours=by).certificate
