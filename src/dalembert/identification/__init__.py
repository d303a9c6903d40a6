"""Parameters of real mechanisms from recorded motions.

logs              recorded motions from CSV, Parquet and MCAP; tables: these files as columns
signals           velocities and accelerations from recorded positions
regression        the linear model of torques, and what of its parameters can be seen
excitation        how informative a motion is, and informative motions
friction          which model of friction a record supports
identify          weighted least squares, confidence, physical consistency
consistency       of all possible bodies, the most plausible ones
doubts            whether measurements and mechanism belong together
pseudo_inertia    which inertial parameters a real body can have
"""

from dalembert.identification.consistency import is_consistent, nearest_consistent, pseudo_inertia_matrix
from dalembert.identification.excitation import Excitation, excitation, exciting_motion, fourier_motion
from dalembert.identification.friction import FRICTION_MODELS, FrictionChoice, choose_friction
from dalembert.identification.identify import Identification, identify
from dalembert.identification.logs import Log, Samples, read_log
from dalembert.identification.regression import DRIVES, LinearTorques, Visible, differentiate, low_pass

__all__ = [
    "DRIVES", "FRICTION_MODELS", "Excitation", "FrictionChoice", "Identification", "LinearTorques", "Log", "Samples",
    "Visible", "choose_friction", "differentiate", "excitation", "exciting_motion", "fourier_motion", "identify",
    "is_consistent", "low_pass", "nearest_consistent", "pseudo_inertia_matrix", "read_log",
]  # fmt: skip
