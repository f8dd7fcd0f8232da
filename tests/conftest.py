"""Signals as a terminal leaves them: a run under nohup hands down an ignored SIGHUP, which commands rightly honour."""

import signal

signal.signal(signal.SIGHUP, signal.SIG_DFL)
