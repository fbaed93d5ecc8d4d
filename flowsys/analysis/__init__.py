"""Local analysis of a flow: what is done by hand around an ODE, for any system or model.

Exponents in a small parameter, time scales, sensitivities and traced boundaries, equilibria, robustness of the limit.
"""
