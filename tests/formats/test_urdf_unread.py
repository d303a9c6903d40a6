"""A misspelt word in a URDF file is told; words of other programs are counted; sound files are left in peace."""

import warnings

import pytest
from test_urdf_reading import INERTIAL, chain, joint, link, robot

from dalembert.errors import ModelWarning
from dalembert.formats import read_urdf

MASS = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
MISSPELT = {
    "line 4: <axes> in <joint> is not read; did you mean <axis>": chain('<axes xyz="0 1 0"/>'),
    "line 4: <Origin> in <joint> is not read; did you mean <origin>": chain('<Origin xyz="0 1 0"/>'),
    "line 4: <dynamic> in <joint> is not read; did you mean <dynamics>": chain('<dynamic damping="1"/>'),
    "line 3: <orgin> in <inertial> is not read; did you mean <origin>": chain(
        body=f'<inertial><orgin xyz="0 0 1"/>{MASS}</inertial>'
    ),
    "line 3: <mass> in <link> is not read; it belongs elsewhere": chain(body=INERTIAL + '<mass value="2"/>'),
    "line 3: <link> in <link> is not read; it belongs elsewhere": chain(body=INERTIAL + link("c")),
    "line 4: <origin> has the attribute 'xzy', which is not read; did you mean 'xyz'": chain('<origin xzy="0 1 0"/>'),
    "line 4: <axis> has the attribute 'XYZ', which is not read; did you mean 'xyz'": chain('<axis XYZ="0 1 0"/>'),
    "line 4: <dynamics> has the attribute 'dampening', which is not read; did you mean 'damping'": chain(
        '<dynamics dampening="1"/>'
    ),
    "line 6: <mimic> has the attribute 'multipler', which is not read; did you mean 'multiplier'": robot(
        *(link(name) for name in "abc"), joint("j", "a", "b"), joint("k", "b", "c", '<mimic joint="j" multipler="2"/>')
    ),
}


@pytest.mark.parametrize("message", MISSPELT)
def test_misspelt_and_misplaced_words_are_told(message):
    with pytest.warns(ModelWarning) as caught:
        mechanism = read_urdf(MISSPELT[message])
    assert any(message in str(warning.message) for warning in caught)
    assert any(message in note for note in mechanism.notes)


def test_words_of_other_programs_are_a_note():
    inside = '<limit lower="-1" upper="1" effort="1" velocity="1" current="2"/><dynamics damping="1" K="3" my:x="1"/>'
    text = chain(inside).replace("<robot ", '<robot xmlns:my="http://example.org" ')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        notes = read_urdf(text).notes
    assert "attributes that are not read: dynamics K (1), limit current (1)" in notes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not any("not read" in note for note in read_urdf(chain()).notes)
