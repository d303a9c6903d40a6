"""LLVM back end: a straight-line program becomes machine code that works on several states at once."""
