"""Numbers worked out once, independently, for two general three-joint chains; all printed digits must come out.

The chains rrr and rpr are packaged; the values were computed with links made of point masses, from virtual work, with
no inertia tensor and no recursion, and with derivatives by complex step.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.algorithms.parsa_coriolis import parsa_coriolis
from dalembert.algorithms.sensitivity import coriolis_matrix, sensitivity
from dalembert.kinematics import pose

Q, V, A = np.array([0.3, -0.7, 1.1]), np.array([0.5, -0.4, 0.9]), np.array([1.2, 0.8, -0.6])

PRINTED = {
    "rrr": {
        "tau": [1.9518953266, 4.4709148576, 0.0017372524],
        "gravity": [0, 3.373282846, -0.0980095075],
        "coriolis": [0.0438775071, 0.0602203032, 0.0037157289],
        "D": [[1.2296791692, 0.5874730086, 0.062625984], [0.5874730086, 0.4424424821, 0.0358498127],
              [0.062625984, 0.0358498127, 0.013]],
        "V": [[0.1172039364, -0.1105879479, -0.0167579258], [0.1767923162, -0.0187729288, 0.0272614186],
              [0.0134610648, -0.0017523137, 0]],
        "P": [[0, -0.4830318738, -0.1118490481], [0, -2.6967869318, -0.2432825259],
              [0, -0.1681169077, 0.5195803122]],
        "parsa": [[0.0586019682, -0.0591801431, -0.0101061492], [0.0922823273, -0.0093864644, 0.0114717264],
                  [0.0084577187, 0.001282826, 0]],
        "origin": [0.7438161358, 0.2920345906, 0.2220662324],
    },
    "rpr": {
        "tau": [1.5415052602, 28.094645173, -0.3252118922],
        "gravity": [0, 25.8272547964, -0.3684061471],
        "coriolis": [0.3010488207, 0.264745602, 0.0149616957],
        "D": [[1.2947470041, -0.350079481, 0.0552939678], [-0.350079481, 3, -0.0379002529],
              [0.0552939678, -0.0379002529, 0.013]],
        "V": [[0.599708559, -0.7824263449, -0.0119190844], [0.8333586527, 0, 0.1253465306],
              [0.0372102017, -0.0282957265, 0]],
        "P": [[0, -2.152488135, -0.0947755185], [0, -0.1723866353, 0.0461781835],
              [0, -0.032719024, 0.3623121022]],
        "parsa": [[0.2998542795, -0.3912131725, -0.0059595422], [0.4166793263, 0, 0.0626732653],
                  [0.0186051009, -0.0141478633, 0]],
        "origin": [0.3008432719, 0.7152091362, -0.1122844324],
    },
}  # fmt: skip
DIGITS = {"rtol": 0, "atol": 0.5000001e-10}
"""Ten printed decimals: half a unit of the last one."""


@pytest.fixture(params=PRINTED)
def chain(request):
    return da.load(request.param), PRINTED[request.param]


def test_forces(chain):
    mechanism, printed = chain
    still = np.zeros(3)
    for name, algorithm in INVERSE_DYNAMICS.items():
        tau, bias, weight = (algorithm(mechanism.tree, Q, v, a) for v, a in ((V, A), (V, still), (still, still)))
        np.testing.assert_allclose(tau, printed["tau"], **DIGITS, err_msg=name)
        np.testing.assert_allclose(weight, printed["gravity"], **DIGITS, err_msg=name)
        np.testing.assert_allclose(bias - weight, printed["coriolis"], **DIGITS, err_msg=name)


def test_inertia_matrix(chain):
    """For rpr the entry (1, 2) is wrong by Algorithm 6.2 as printed: its term U x z is missing."""
    mechanism, printed = chain
    for name, algorithm in INERTIA_MATRIX.items():
        np.testing.assert_allclose(algorithm(mechanism.tree, Q), printed["D"], **DIGITS, err_msg=name)


def test_sensitivities(chain):
    mechanism, printed = chain
    found = sensitivity(mechanism.tree, Q, V, A)
    for name in ("tau", "D", "V", "P"):
        np.testing.assert_allclose(getattr(found, name), printed[name], **DIGITS, err_msg=name)


def test_coriolis_matrices(chain):
    mechanism, printed = chain
    np.testing.assert_allclose(parsa_coriolis(mechanism, Q, V), printed["parsa"], **DIGITS)
    np.testing.assert_allclose(coriolis_matrix(mechanism.tree, Q, V), np.array(printed["V"]) / 2, **DIGITS)


def test_position(chain):
    mechanism, printed = chain
    np.testing.assert_allclose(pose(mechanism, Q, mechanism.bodies[-1].name).translation, printed["origin"], **DIGITS)
