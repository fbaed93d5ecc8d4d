"""LaTeX that the house writes, read back: as MathML for pages that fetch nothing, and as plain text for terminals."""

from flowsys.typeset.mathml import mathml as mathml
from flowsys.typeset.plain import formula as formula
from flowsys.typeset.plain import pieces as pieces
from flowsys.typeset.plain import plain as plain
