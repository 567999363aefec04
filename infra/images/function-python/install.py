"""
Installs the packages of a manifest into the folder SVC_DEPENDENCIES, unless the folder exists. Installs only wheels, because
other packages run their own code. On failure, prints the end of pip's output and exits with 1.
"""

import os
import shutil
import subprocess
import sys
import uuid

from pip._vendor.certifi import where

LINES_MAX = 12


def output_lines(output):
    """The lines of pip's output, without its notices."""
    lines = [line.strip() for line in output.splitlines()]
    return [line for line in lines if line and not line.startswith(("[notice]", "WARNING: You are using pip"))]


def write_bundle(path, certificates):
    """Writes the CAs that pip trusts by default and the installation's own: pip trusts the CAs of one file only."""
    with open(where(), encoding="utf-8") as public, open(path, "w", encoding="utf-8") as bundle:
        bundle.write(public.read() + "\n" + certificates)


def install(folder, manifest):
    command = [sys.executable, "-m", "pip", "install", "--only-binary=:all:", "--no-input", "--no-cache-dir"]
    # The first call waits for 60 seconds in all; pip's own five retries of 15 seconds outlast it.
    command += ["--retries", "2", "--timeout", "10"]
    command += ["--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]
    command += ["--target", os.path.join(folder, "python"), "--requirement", manifest]
    # A private HOME, so that pip uses only the platform's configuration.
    environment = {**os.environ, "HOME": folder, "TMPDIR": folder}
    # Compiled during installation, because a pod cannot store compiled files.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    certificates = environment.pop("SVC_CA_CERTIFICATES", "")
    if certificates:
        environment["PIP_CERT"] = os.path.join(folder, "ca.pem")
        write_bundle(environment["PIP_CERT"], certificates)
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    manifest, target = os.environ["SVC_MANIFEST"], os.environ["SVC_DEPENDENCIES"]
    if os.path.exists(target):
        return 0
    partial = os.path.join(os.path.dirname(target), f".partial-{uuid.uuid4()}")
    os.makedirs(partial)
    result = install(partial, manifest)
    if result.returncode == 0:
        os.makedirs(os.path.join(partial, "python"), exist_ok=True)
        if os.path.exists(os.path.join(partial, "ca.pem")):
            os.remove(os.path.join(partial, "ca.pem"))
        try:
            os.rename(partial, target)
        except OSError:
            # Another pod finished first.
            if not os.path.exists(target):
                raise
    shutil.rmtree(partial, ignore_errors=True)
    if result.returncode != 0:
        print("\n".join(output_lines(result.stdout)[-LINES_MAX:]), file=sys.stderr)
    return 0 if result.returncode == 0 else 1


sys.exit(main())
