"""Runs the suite recorded from a real Triton against the built server, and says what it left out and why.

The lists come from the Makefile: files that have to pass and, in the environment variable CONFORMANCE_NOT_YET, lines
`FILE[::TEST]  reason`. Python models run on this interpreter, which has numpy.
A file of the suite that stands in no list is an error: a file nobody decided about must not pass for a good one.
"""
import argparse
import fnmatch
import os
import subprocess
import sys
from pathlib import Path


def not_yet() -> dict[str, str]:
    """{FILE or FILE::TEST pattern: reason}."""
    entries = {}
    for line in os.environ.get("CONFORMANCE_NOT_YET", "").splitlines():
        if line.strip():
            name, _, reason = line.strip().partition(" ")
            entries[name] = reason.strip()
    return entries


def run(suite: Path, server: str, files: list[str], left_out: list[str]) -> int:
    """pytest's exit status on these files."""
    if not files:
        return 0
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=short", *files]
    for name in left_out:
        if name.split("::")[0] in files:
            command.append(f"--deselect={name}")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {**os.environ, "SERVER_CMD": server, "PATH": path}
    return subprocess.run(command, cwd=suite, env=environment, stdin=subprocess.DEVNULL).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, required=True)
    parser.add_argument("--server", required=True, help="command that starts the server")
    parser.add_argument("--files", nargs="*", default=[])
    arguments = parser.parse_args()

    if not arguments.suite.is_dir():
        print(f"  conformance  left out: {arguments.suite} is not here (CONFORMANCE=FOLDER names another place)")
        return 0
    skipped = not_yet()
    chosen = arguments.files
    undecided = [path.name for path in sorted(arguments.suite.glob("test_*.py"))
                 if path.name not in chosen and not any(fnmatch.fnmatch(path.name, name) for name in skipped if "::" not in name)]
    if undecided:
        print(f"conformance: in no list of the Makefile: {', '.join(undecided)}", file=sys.stderr)
        return 1

    print("  run:")
    for name in chosen:
        print(f"    {name}")
    print("  not run yet:")
    for name, reason in skipped.items():
        print(f"    {name:<60} {reason}")
    sys.stdout.flush()

    deselected = [name for name in skipped if "::" in name]
    return run(arguments.suite, arguments.server, chosen, deselected)


if __name__ == "__main__":
    sys.exit(main())
