"""Classical constrained mechanisms with published parameters, for tests, examples and benchmarks. SI units."""

from dalembert.constraints.classical.planar import ANDREWS_START, andrews, four_bar, parallel_four_bars, slider_crank
from dalembert.constraints.classical.rolling import (
    BICYCLE_UPRIGHT,
    chaplygin_sleigh,
    rattleback,
    rolling_disc,
    whipple_bicycle,
)
from dalembert.constraints.classical.spatial import (
    EARTH,
    bricard,
    flyball_governor,
    satellite,
    spatial_slider_crank,
)

__all__ = [
    "ANDREWS_START", "BICYCLE_UPRIGHT", "EARTH", "andrews", "bricard", "chaplygin_sleigh", "flyball_governor",
    "four_bar", "parallel_four_bars", "rattleback", "rolling_disc", "satellite", "slider_crank",
    "spatial_slider_crank", "whipple_bicycle",
]  # fmt: skip
