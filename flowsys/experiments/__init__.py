"""Experiments on real small networks: what is trained by Adam, on which samples, and the runs that are kept of it.

`transformer` and `clauses` are networks, `training` the loop that stops and goes on, `samples` what is fresh, stored or
held out, `stored` a data folder of runs, `command` what makes them. Everything else, from the task to what is looked
at, is the experiment's own.
"""
