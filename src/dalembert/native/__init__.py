"""Programs as machine code of this processor: SIMD over states, registered as NumPy generalized ufuncs.

llvm            LLVM IR of a program, and from IR to machine code
load, cache     machine code from the disk, or compiled and kept there
kernel          a program that is called like a function of arrays
ufunc, calls    the ways into machine code: NumPy's, and a shorter one for single states
bound           a call with its arrays fixed
recurrence      a program repeated on its own results
threads         batches on several cores
arguments       what a call may be given, and the errors for what it may not
"""
