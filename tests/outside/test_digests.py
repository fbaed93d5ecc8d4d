"""What a system's digest covers: results that another code made are never taken for its own."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from outside import decay

import flowsys
from flowsys.errors import InputError
from flowsys.machine.kept import digest_of_sources
from flowsys.sweeps import load, make_sweep, parse_axis, refined_sweep, run
from flowsys.sweeps.store import Store
from flowsys.system.problem import Event


def swept(system, level="L3"):
    return make_sweep(system, [parse_axis("rate=1:2:3")], ["T_half"], level=level)


def test_a_package_s_digest_is_that_of_its_sources():
    system = flowsys.load("mixture")
    assert system.package == "flowsys.systems.mixture" and system.digest == digest_of_sources("mixture")


def test_a_system_with_other_code_has_another_digest_whatever_its_name():
    system = decay()
    scaled = lambda factor: replace(system, build=lambda *form: replace(system.build(*form), scale=factor))
    digests = [s.digest for s in (system, scaled(1.0), scaled(2.0), replace(system, name="mixture"))]
    assert len({*digests, digest_of_sources("mixture")}) == 5
    assert scaled(2.0).digest == digests[2]
    assert replace(system, name="mixture").package is None


@pytest.mark.parametrize("level", ["L0", "L1", "L3"])
def test_a_sweep_s_digest_covers_samples_starts_events_and_stages(level, monkeypatch):
    # what the code reads from elsewhere when it runs is not in the code: the numbers themselves are looked at
    system = decay()
    built, trained = system.build, system.training
    changes = {
        "start": lambda p: replace(p, initial=np.array([3.0]) if level != "L0" else {"x": np.array(3.0)}),
        "event": lambda p: replace(p, events=(Event("T_half", "x", 0.25, -1),)),
        "stage": lambda p: replace(p, stages=(replace(p.stages[0], until=1.0), p.stages[0])),
        "none": lambda p: p,
    }
    now = {"change": "none"}
    monkeypatch.setattr(flowsys, "change_of_a_test", lambda p: changes[now["change"]](p), raising=False)
    changing = replace(
        system,
        build=lambda *form: flowsys.change_of_a_test(built(*form)),
        training=lambda *form: flowsys.change_of_a_test(trained(*form)),
    )
    digests, codes = set(), set()
    for now["change"] in changes:
        sweep = swept(changing, level)
        digests.add(sweep.digest)
        codes.add(sweep.code)
    assert len(digests) == 4 and len(codes) == 1


def test_parts_that_another_code_made_are_not_taken_for_done(tmp_path):
    system = decay()
    other = replace(system, build=lambda *form: replace(system.build(*form), scale=2.0))
    store = Store(tmp_path / "d.nc", swept(other))
    store.write(next(iter(run(swept(other)))))
    assert store.done() == {0}
    assert Store(tmp_path / "d.nc", swept(system)).done() == set()


def test_a_diagram_that_another_code_made_is_not_refined(tmp_path):
    system = decay()
    store = Store(tmp_path / "d.nc", swept(system))
    for chunk in run(swept(system)):
        store.write(chunk)
    store.finish()
    diagram = load(tmp_path / "d.nc")
    assert len(refined_sweep(diagram, system)[1].axes[0]) > 3
    with pytest.raises(InputError, match="another text of decay"):
        refined_sweep(diagram, replace(system, summary="something else"))


def test_a_packaged_system_is_pickled_by_its_name_and_is_one_object():
    system = flowsys.load("mixture")
    assert pickle.loads(pickle.dumps(system)) is system
