"""Programs as functional mock-up units (FMI 2.0 and 3.0): archives that co-simulation tools load.

unit         what goes into one: programs of rates, directional derivatives and corrections; named variables with units
description  the XML that says so
archive      sources, binary and description in one file
compiler     the C compiler of this machine
sources      the C code that all units share: the functions of FMI 2 and FMI 3 around one integrator
"""
