"""
Installs what the manifest names into the folder of its digest, once: every later start finds it there. Only wheels are
installed, since anything else would be run. What fails, fails with the installer's last lines.
"""

import os
import shutil
import subprocess
import sys
import uuid

LINES_MAX = 12


def telling_lines(said):
    """pip's own words without its notices."""
    lines = [line.strip() for line in said.splitlines()]
    return [line for line in lines if line and not line.startswith(("[notice]", "WARNING: You are using pip"))]


def install(folder, manifest):
    command = [sys.executable, "-m", "pip", "install", "--only-binary=:all:", "--no-input", "--no-cache-dir"]
    command += ["--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]
    command += ["--target", os.path.join(folder, "python"), "--requirement", manifest]
    # A HOME of its own: no configuration but the platform's counts.
    environment = {**os.environ, "HOME": folder, "TMPDIR": folder}
    # Compiled once, here: a pod could not keep what it compiles.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    manifest, target = os.environ["SVC_MANIFEST"], os.environ["SVC_DEPENDENCIES"]
    if os.path.exists(target):
        return 0
    work = os.path.join(os.path.dirname(target), f".making-{uuid.uuid4()}")
    os.makedirs(work)
    done = install(work, manifest)
    if done.returncode == 0:
        os.makedirs(os.path.join(work, "python"), exist_ok=True)
        try:
            os.rename(work, target)
        except OSError:
            # Another pod was faster.
            if not os.path.exists(target):
                raise
    shutil.rmtree(work, ignore_errors=True)
    if done.returncode != 0:
        print("\n".join(telling_lines(done.stdout)[-LINES_MAX:]), file=sys.stderr)
    return 0 if done.returncode == 0 else 1


sys.exit(main())
