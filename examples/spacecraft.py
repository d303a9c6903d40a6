"""A satellite in orbit: the gradient of gravity makes a long body swing about the vertical like a pendulum.

Equations of one free rigid body in an inverse-square field, quaternion attitude. For small angles the swing in the
plane of the orbit has the frequency n sqrt(3 (I_xx - I_zz) / I_yy), n being the orbital rate; the motion must show it.
"""

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da
from _pictures import SHORT, save
from dalembert.formulations import InverseSquare, rigid_body

mu, orbit = 3.986004418e14, 7.0e6  # m^3/s^2, m
rate = np.sqrt(mu / orbit**3)
moments = np.array([800.0, 900.0, 150.0])  # long along its z axis, which points at the earth
satellite = da.Inertia(500.0, tensor=np.diag(moments))
equations = rigid_body(satellite, gravity=InverseSquare(mu), name="satellite")
kernels = equations.compile()
print(repr(equations), f"orbital rate {rate:.4e} rad/s")


def call(name, q, v):
    kernel = kernels[name]
    given = {"q": q, "v": v}
    return kernel(*(given[port.name] for port in kernel.inputs))


def flow(t, x):
    q, v = x[:7], x[7:]
    return np.concatenate([call("kinematics", q, v), np.linalg.solve(call("mass_matrix", q, v), -call("bias", q, v))])


# The orbit lies in the x-z plane, the motion is about +y; at the start the body's axes are those of the inertial frame.
tilt = 0.05
q0 = [0, 0, orbit, 0, np.sin(tilt / 2), 0, np.cos(tilt / 2)]
v0 = [orbit * rate, 0, 0, 0, rate, 0]
end = (0.2 if SHORT else 3.0) * 2 * np.pi / rate
times = np.linspace(0, end, 600)
found = solve_ivp(flow, (0, end), [*q0, *v0], "DOP853", times, rtol=1e-11, atol=1e-10)
position, eta = found.y[:3], found.y[3:7]
pitch = np.unwrap(2 * np.arctan2(eta[1], eta[3])) - np.unwrap(np.arctan2(position[0], position[2]))
frequency = rate * np.sqrt(3 * (moments[0] - moments[2]) / moments[1])
predicted = tilt * np.cos(frequency * times)
print(f"swing of {tilt} rad: largest difference from the small-angle law {np.abs(pitch - predicted).max():.1e} rad")
print(f"orbit radius changes by {np.ptp(np.linalg.norm(position, axis=0)):.2f} m")
assert np.abs(pitch - predicted).max() < 0.1 * tilt


def draw(figure):
    axis = figure.subplots()
    axis.plot(times / 60, np.degrees(pitch), label="simulated")
    axis.plot(times / 60, np.degrees(predicted), linestyle="--", label="small angles")
    axis.set(xlabel="t (min)", ylabel="pitch from the vertical (degrees)")
    axis.legend()


save("spacecraft", draw)
