"""Commands with a time limit."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass


@dataclass
class Finished:
    status: int | None  # None: the time limit
    output: str
    errors: str
    seconds: float

    def reason(self):
        """Why it did not end well, in a line."""
        if self.status is None:
            return f"time limit of {self.seconds:.0f} s"
        lines = [line for line in (self.errors + "\n" + self.output).splitlines() if line.strip()]
        told = next((line for line in lines if "rror" in line), lines[-1] if lines else "no output")
        return f"exit status {self.status}: {told.strip()[:300]}"


def run(command, limit):
    """Ends the command and what it started after `limit` seconds; what it had printed by then is kept."""
    begin = time.monotonic()
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                   start_new_session=True)
    except OSError as error:
        return Finished(127, "", str(error), 0)
    try:
        output, errors = process.communicate(timeout=limit)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        status = None
    return Finished(status, output, errors, time.monotonic() - begin)
