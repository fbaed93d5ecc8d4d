"""Exploring a system in a notebook: sliders, live curves, training as dots, a phase diagram that can be clicked.

`controls` says which sliders a system has, `view` what is looked at and how it is written as Python and as a command,
`pictures` draws it, `background` computes what must not block a slider, `widgets` puts them on a page (ipywidgets and
anywidget, the extra `notebooks`); without them `asked` draws a static figure.
"""
