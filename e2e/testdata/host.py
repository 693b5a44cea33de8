# Hosts the runtime as a python program does: python3 host.py LIBHOSTFXR PROGRAM.dll [ARGUMENTS...]
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
arguments = (ctypes.c_char_p * len(sys.argv[2:]))(*[a.encode() for a in sys.argv[2:]])
context = ctypes.c_void_p()
code = library.hostfxr_initialize_for_dotnet_command_line(len(arguments), arguments, None, ctypes.byref(context))
if code != 0:
    sys.exit("hostfxr_initialize_for_dotnet_command_line: %#x" % (code & 0xFFFFFFFF))
sys.exit(library.hostfxr_run_app(context))
