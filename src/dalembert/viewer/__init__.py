"""The viewer: a mechanism, its motion and its equations as one HTML page that needs no server and no network.

view        the public function
make        from a mechanism and its motion to the page
page        puts everything into one page, harmlessly; the page itself is in assets/
inline      the page, a picture or a film in a notebook
picture     pictures and films, drawn here: a camera, light, ground and shadows
raster      triangles to pixels
solids      what is drawn as triangles on links
live        a running simulation or arriving states, by viser
scene       bodies, shapes, joints, frames and ellipsoids as data
bones       what is drawn of a mechanism without geometry
meshes      mesh files: found, read, kept small
motion      a trajectory as data
programs    what the page computes by itself, as JavaScript made by the compiler
formulas    the panel of equations
"""

from dalembert.viewer.picture import Picture, film, picture
from dalembert.viewer.view import view

__all__ = ["Picture", "film", "picture", "view"]
