"""The mixture in 60 lines of declaration: the classes, the certificate and the trajectory of the packaged system."""

import numpy as np
import pytest
from mixture_model import mixture

import flowsys as fs

NAMES = {
    "w_plus_c1": "w_c", "w_plus_v1": "w_v", "S_plus_c1_v1": "S_cv_same", "S_plus_c1_v2": "S_cv_diff",
    "S_plus_v1_v1": "S_vv_same", "KK_plus_c1_c1": "KK_cc_same", "QQ_plus_c1_v2": "QQ_cv_diff", "loss": "loss",
    "accuracy": "accuracy",
}  # fmt: skip


@pytest.mark.parametrize("K, coordinates", [(2, 80), (3, 168)])
def test_both_sizes_lump_to_22_classes(K, coordinates):
    derivation = fs.derive(mixture, K=K)
    assert (derivation.n_coordinates, derivation.n_classes) == (coordinates, 22) and not derivation.faults
    assert derivation.certificate <= 1e-12 and derivation.autodiff <= 1e-12 and derivation.seconds < 60


@pytest.mark.parametrize("mode, at", [("simultaneous", [5.0, 120.0, 300.0]), ("three_stage", ["T_1", "T_2", 150.0])])
def test_the_trajectory_is_the_packaged_one(mode, at):
    packaged = fs.load("mixture")
    theirs = fs.solve(packaged, mode=mode, at=at, observe=list(NAMES.values()), rtol=1e-11)
    ours = fs.solve(mixture, mode=mode, at=at, observe=list(NAMES), rtol=1e-11)
    assert np.allclose(ours.t, theirs.t, rtol=1e-9)
    for mine, stated in NAMES.items():
        assert np.allclose(ours[mine], theirs[stated], rtol=1e-9, atol=1e-10), mine


@pytest.mark.slow
def test_a_hundred_thousand_coordinates_lump_within_half_a_minute():
    derivation = fs.derive(mixture, K=78)
    assert (derivation.n_coordinates, derivation.n_classes) == (97_968, 22)
    assert derivation.certificate <= 1e-12 and derivation.autodiff <= 1e-12 and derivation.seconds < 30
