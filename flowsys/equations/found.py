"""How the data of a found limit reads on a page: weights of merged samples, their entries, what trains and how."""

import re

from flowsys.system.names import Names, spelled

_RULES = (
    (r"sample_weight_0_(\d+)", r"\pi_{{{0}}}", "weight of the samples of kind {0} under the loss that is trained"),
    (r"sample_weight_(\d+)_(\d+)", r"\pi^{{({0})}}_{{{1}}}", "weight of kind {1} of the samples of their own, {0}"),
    (r"sample_share_(\d+)", r"\bar{{\pi}}_{{{0}}}", "share of the samples of kind {0} with the model's own weights"),
    (r"sample_total", r"\bar{{\pi}}", "what the model's own weights sum to"),
    (r"sample_data_(\d+)_(.+?)_*", "{1}", "an entry of the samples, X.{1}"),
    (r"train_(.+)", r"\chi_{{{0}}}", "1 while {0} trains, else 0"),
    (r"rate_(.+)", r"r_{{{0}}}", "rate at which {0} trains"),
)


def symbol_and_words(names: Names, name: str) -> tuple[str, str]:
    """The LaTeX and the meaning of a name of the system, or of a number that its derivation named."""
    symbol, meaning = names.symbol(name), names.words(name)
    if meaning or symbol != spelled(name):
        return symbol, meaning
    for pattern, symbol_by_rule, words in _RULES:
        if found := re.fullmatch(pattern, name):
            parts = found.groups()
            told = (part if part.isdigit() else spelled(part) for part in parts)
            return symbol_by_rule.format(*told), words.format(*parts)
    return symbol, ""
