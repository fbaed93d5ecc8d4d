"""`python -m flowsys` is the command line."""

from flowsys.cli import main

main()
