"""Brings onnxruntime's CPU library: pip downloads the pinned wheel, the library is taken out of it.

Usage: python deploy/fetch_onnxruntime.py OUTPUT_FOLDER [--arch x86_64|aarch64]

Leaves OUTPUT_FOLDER/libonnxruntime.so.VERSION and the licence texts that travel with it. The wheel's hash is checked by
pip (deploy/onnxruntime.txt), the library's by us, since that is what goes into the executable.
"""
import argparse
import hashlib
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

VERSION = "1.32.0"
LIBRARY = f"libonnxruntime.so.{VERSION}"
# The wheels differ only in the Python they are for; naming one keeps the hash the same on every machine.
WHEEL_PYTHON = "3.12"
LIBRARY_SHA256 = {
    "x86_64": "6c1585d1bbf45b0712ea4a21b705c5fcb4ba04ff2e30f1fbf81a49faf658638f",
    "aarch64": "49852228a93995158b2a813d4df487d47a1b76b0eaa894507ef49e91b6d7954a",
}
NOTICES = {"onnxruntime/LICENSE": "onnxruntime-LICENSE", "onnxruntime/ThirdPartyNotices.txt": "onnxruntime-ThirdPartyNotices.txt"}


def download_wheel(arch: str, folder: str) -> Path:
    """The path of the pinned wheel, downloaded into `folder`."""
    requirement = Path(__file__).with_name("onnxruntime.txt")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:",
               f"--platform=manylinux_2_28_{arch}", f"--python-version={WHEEL_PYTHON}", "--implementation=cp",
               "--abi=cp" + WHEEL_PYTHON.replace(".", ""), "--dest", folder, "--requirement", str(requirement)]
    subprocess.run(command, check=True)
    return next(Path(folder).glob("onnxruntime-*.whl"))


def write_whole(target: Path, content: bytes, mode: int) -> None:
    """Writes beside the target and renames, so that a broken run leaves no half file."""
    part = target.with_name(target.name + ".part")
    part.write_bytes(content)
    part.chmod(mode)
    os.replace(part, target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--arch", default=platform.machine(), choices=sorted(LIBRARY_SHA256))
    arguments = parser.parse_args()

    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(download_wheel(arguments.arch, folder)) as wheel:
            library = wheel.read(f"onnxruntime/capi/{LIBRARY}")
            found, expected = hashlib.sha256(library).hexdigest(), LIBRARY_SHA256[arguments.arch]
            if found != expected:
                sys.exit(f"{LIBRARY} for {arguments.arch}: sha256 {found}, expected {expected}")
            for source, name in NOTICES.items():
                write_whole(arguments.output / name, wheel.read(source), 0o644)
            write_whole(arguments.output / LIBRARY, library, 0o755)


if __name__ == "__main__":
    main()
