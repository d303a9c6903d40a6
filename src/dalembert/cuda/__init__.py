"""Programs on CUDA devices: source, kernels, arrays of other libraries.

tuning          what a card has, and every limit by which a kernel is chosen
dialect         how operations are written
source, tiles   a program as CUDA: one thread per state, tiles of states per warp
split           programs that compute some of the results
warps           warp specialisation: a program divided among cooperating warps
warp_plan       which division, and how it is laid out in shared memory
warp_kernel     its source
stages          several kernels one after the other; kernels on the columns of matrices
library         kernels as files with a C interface
launch          from source to a function that can be launched
kernel          a program that is called like a function of arrays
tensors         the short way for PyTorch tensors
arrays          arrays of CuPy, PyTorch, JAX and NumPy, streams, errors of devices
recurrence      a program repeated on its own results
"""
