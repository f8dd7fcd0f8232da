"""Signals as a terminal leaves them: nohup hands down an ignored SIGHUP, a shell that runs a job in the background an
ignored SIGINT, and commands rightly honour both.
"""

import signal

signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
