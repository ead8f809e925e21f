"""What differs between operating systems: threads, pages of memory, files, the clock, what the processor has, which Arm core it is.

Each file says one of these for POSIX and for Windows. Nothing outside of this folder asks which system it is on.
"""
