"""One self-contained page: for each system its ladder, its claims with verdicts, its diagrams and figures."""

from flowsys.report.page import report as report
