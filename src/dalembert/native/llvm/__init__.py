"""LLVM back end: a straight-line program becomes machine code that works on several states at once.

target, text    the processor and its registers; writing IR
plan            a program cut into chunks of arithmetic and calls of functions
arithmetic      a chunk as IR
functions       sine and cosine of our own; what is left to the C library
transfer        between the caller's arrays and the scratch
runtime         the parts all kernels share
loop, module    the loops over states and over steps; everything of one program
engine          IR to object code, object code to addresses
"""
