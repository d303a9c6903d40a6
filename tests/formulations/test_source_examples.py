"""The worked examples of the source documents, symbol for symbol: stacker (NGUYEN), RP arm (KHATIB)."""

from __future__ import annotations

import pytest
import sympy
from classical_systems import rp_arm, stacker
from sympy import Matrix, Rational, cos, sin, symbols, zeros

from dalembert.formulations import derive
from dalembert.formulations.kronecker import KroneckerFrame
from dalembert.formulations.mechanism_system import system_of

METHODS = ("lagrange", "kane", "kronecker", "newton-euler")


def assert_same(found, expected) -> None:
    """Exact equality of matrices, and no entry longer than the published one."""
    found, expected = Matrix(found), Matrix(expected)
    assert found.shape == expected.shape
    for mine, printed in zip(found, expected):
        assert sympy.expand(sympy.expand_trig(mine - printed)) == 0 or sympy.simplify(mine - printed) == 0
        assert sympy.count_ops(mine) <= sympy.count_ops(printed) + 1  # a sign may stand elsewhere


class TestStacker:
    m1, m2, m3, a3, l3 = symbols("m1 m2 m3 a3 l3")
    I2y, I3x, I3y, I3z = symbols("I_2y I_3x I_3y I_3z")
    s2, s3, c2, c3 = (f(x) for f in (sin, cos) for x in symbols("q2 q3"))

    def frame(self) -> KroneckerFrame:
        return KroneckerFrame(system_of(stacker()), "link3_dh")

    def quantity(self, name: str):
        return {q.name.removesuffix("_link3_dh"): q for q in self.frame().quantities()}[name].sympy()

    def test_102_translational_jacobian(self):
        a3, s2, s3, c2, c3 = self.a3, self.s2, self.s3, self.c2, self.c3
        expected = [[0, -a3 * s2 * c3, -a3 * c2 * s3], [0, 0, -a3 * c3], [1, a3 * c2 * c3, -a3 * s2 * s3]]
        assert self.quantity("J_T") == Matrix(expected)

    def test_103_translational_hessian(self):
        a3, s2, s3, c2, c3 = self.a3, self.s2, self.s3, self.c2, self.c3
        expected = [
            [0, 0, 0, 0, -a3 * c2 * c3, a3 * s2 * s3, 0, a3 * s2 * s3, -a3 * c2 * c3],
            [0, 0, 0, 0, 0, 0, 0, 0, a3 * s3],
            [0, 0, 0, 0, -a3 * s2 * c3, -a3 * c2 * s3, 0, -a3 * c2 * s3, -a3 * s2 * c3],
        ]
        assert self.quantity("H_T") == Matrix(expected)

    def test_104_rotational_jacobian(self):
        assert self.quantity("J_R") == Matrix([[0, 0, self.s2], [0, -1, 0], [0, 0, -self.c2]])

    def test_105_rotational_hessian(self):
        expected = zeros(3, 9)
        expected[0, 7], expected[2, 7] = self.c2, self.s2
        assert self.quantity("H_R") == expected

    @pytest.mark.parametrize("method", METHODS)
    def test_106_mass_matrix(self, method):
        h, s2, s3, c2, c3 = self.m3 * self.l3, self.s2, self.s3, self.c2, self.c3
        expected = [
            [self.m1 + self.m2 + self.m3, h * c2 * c3, -h * s2 * s3],
            [h * c2 * c3, self.I2y + (self.m3 * self.l3**2 + self.I3y) * c3**2 + self.I3x * s3**2, 0],
            [-h * s2 * s3, 0, self.m3 * self.l3**2 + self.I3z],
        ]
        assert derive(stacker(), method).sympy("mass_matrix") == Matrix(expected)  # the same tree of symbols

    def test_107_velocity_free_coriolis_matrix(self):
        h, s2, s3, c2, c3 = self.m3 * self.l3, self.s2, self.s3, self.c2, self.c3
        k = (self.m3 * self.l3**2 + self.I3y - self.I3x) * s3 * c3
        half = Rational(1, 2)
        a, b = h * s2 * c3, h * c2 * s3
        expected = [
            [0, 0, 0, 0, -a, -b, 0, -b, -a],
            [0, -half * a, -half * b, half * a, 0, -2 * k, half * b, 0, 0],
            [0, -half * b, -half * a, half * b, k, 0, half * a, 0, 0],
        ]
        assert derive(stacker(), "kronecker").sympy("coriolis_star") == Matrix(expected)

    @pytest.mark.parametrize("method", METHODS)
    def test_coriolis_forces_of_all_routes(self, method):
        h, s2, s3, c2, c3 = self.m3 * self.l3, self.s2, self.s3, self.c2, self.c3
        k = (self.m3 * self.l3**2 + self.I3y - self.I3x) * s3 * c3
        v2, v3 = symbols("qdot2 qdot3")
        expected = [-h * s2 * c3 * (v2**2 + v3**2) - 2 * h * c2 * s3 * v2 * v3, -2 * k * v2 * v3, k * v2**2]
        assert_same(derive(stacker(), method).sympy("coriolis"), Matrix(expected))

    def test_97_is_not_skew_but_christoffel_is(self):
        by_lagrange = derive(stacker(), "lagrange")
        rate = by_lagrange.sympy("mass_matrix_rate")
        skew = rate - 2 * by_lagrange.sympy("coriolis_matrix")
        assert (skew + skew.T).applyfunc(sympy.simplify) == zeros(3, 3)
        nguyen = rate - 2 * derive(stacker(), "kronecker").sympy("coriolis_matrix_nguyen")
        assert (nguyen + nguyen.T).applyfunc(sympy.simplify) != zeros(3, 3)


class TestRPArm:
    m1, m2, l1, g, I1, I2, d2, theta, rate, slide = symbols("m1 m2 l1 g I_zz1 I_zz2 d2 theta1 thetadot1 ddot2")

    @pytest.mark.parametrize("method", METHODS)
    def test_equations_of_the_lecture(self, method):
        equations = derive(rp_arm(), method)
        M = sympy.diag(self.m1 * self.l1**2 + self.I1 + self.m2 * self.d2**2 + self.I2, self.m2)
        V = Matrix([2 * self.m2 * self.d2 * self.rate * self.slide, -self.m2 * self.d2 * self.rate**2])
        G = Matrix(
            [(self.m1 * self.l1 + self.m2 * self.d2) * self.g * cos(self.theta), self.m2 * self.g * sin(self.theta)]
        )
        assert equations.sympy("mass_matrix") == M
        assert equations.sympy("coriolis") == V
        assert equations.sympy("gravity") == G

    def test_jacobians_of_the_lecture(self):
        steps = {q.name: q.sympy() for step in derive(rp_arm()).steps() for q in step.quantities}
        c, s = cos(self.theta), sin(self.theta)
        assert steps["Jv_1"] == Matrix([[-self.l1 * s, 0], [self.l1 * c, 0], [0, 0]])
        assert steps["Jv_2"] == Matrix(
            [[-self.d2 * s, c], [self.d2 * c, s], [0, 0]]
        )  # erratum: the separator is missing
        assert steps["Jw_2"] == Matrix([[0, 0], [0, 0], [1, 0]])

    def test_christoffel_symbols_and_the_matrices_b_and_c(self):
        equations = derive(rp_arm())
        b = equations.sympy("christoffel")
        h = self.m2 * self.d2
        assert b[0, 0, 1] == h and b[1, 0, 0] == -h and b[0, 1, 1] == 0
        assert equations.sympy("centrifugal_matrix") == Matrix([[0, 0], [-h, 0]])
        assert equations.sympy("coriolis_columns") == Matrix([2 * h, 0])
