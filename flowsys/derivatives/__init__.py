"""Exact derivatives of a flow in its parameters and its start: variational equations of the derived program.

A derivative has the name d_PARAMETER(QUANTITY): `d_b(w_c)` beside a row of `solve`, `d_b(T_2-T_1)` in a sweep.
"""
