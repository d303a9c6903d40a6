"""LLVM back end: a straight-line program becomes machine code that works on several states at once.

target, text                    the processor and its registers; writing IR
plan                            a program cut into chunks of arithmetic and calls of functions
arithmetic                      a chunk as IR
trigonometry, elementary        sine and cosine of our own; what is left to the C library
rows, transfer                  between the caller's arrays and the scratch
runtime                         the parts all kernels share
loop, module                    the loop over states; everything of one program
thunk                           calls straight from Python
engine                          IR to object code, object code to addresses
"""
