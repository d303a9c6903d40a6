"""Programs as source code. What can be exported is listed in :data:`dalembert.export.LANGUAGES`.

names           names that a language allows, each given out once
statements      a program as statements, in the dialect of a language
c_family        what C and CUDA share
c               C99, and C with vector types
python          functions on NumPy arrays
javascript      functions on flat arrays
casadi          functions of CasADi
latex           aligned equations
"""
