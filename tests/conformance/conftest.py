"""Starts the server for the judges of this folder.

TRIBUNE_COMMAND (a shell-like string) starts it; without it the built executable is taken. Every judge is an outside
program: Triton's own client packages, ONNX's operator tests, a browser.
"""
import os
import shlex
import signal
import socket
import subprocess
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

ROOT = Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("TRIBUNE_COMMAND", f"{ROOT}/dist/tribune serve")
START_SECONDS = 30
STOP_SECONDS = 40


def free_ports(count: int) -> list[int]:
    """Ports that were free on the loopback address a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Server:
    """A running server: its addresses, its process and its log."""

    def __init__(self, repository, log_path, *flags, cwd=ROOT, env=None, command=COMMAND):
        http, grpc, metrics = free_ports(3)
        self.http, self.grpc, self.metrics = f"127.0.0.1:{http}", f"127.0.0.1:{grpc}", f"127.0.0.1:{metrics}"
        self.url = f"http://{self.http}"
        self.log_path = Path(log_path)
        self.started_at = time.monotonic()
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [*shlex.split(command), f"--model-repository={repository}",
                 "--http-address=127.0.0.1", f"--http-port={http}", "--grpc-address=127.0.0.1", f"--grpc-port={grpc}",
                 "--metrics-address=127.0.0.1", f"--metrics-port={metrics}", *flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=cwd, env={**os.environ, **(env or {})})

    def log_tail(self, lines: int = 40) -> str:
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])

    def wait_ready(self) -> float:
        """Seconds from start to ready."""
        while time.monotonic() - self.started_at < START_SECONDS:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}\n{self.log_tail()}")
            try:
                if requests.get(f"{self.url}/v2/health/ready", timeout=1).status_code == 200:
                    return time.monotonic() - self.started_at
            except requests.RequestException:
                pass
            time.sleep(0.01)
        raise RuntimeError(f"not ready after {START_SECONDS} s\n{self.log_tail()}")

    def rss_bytes(self) -> int:
        """Resident memory of the server and its children."""
        own = Path(f"/proc/{self.process.pid}")
        pids = [self.process.pid]
        for task in own.glob("task/*/children"):
            pids += [int(pid) for pid in task.read_text().split()]
        return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") for pid in pids)

    def stop(self) -> int:
        """SIGTERM, then the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode


@contextmanager
def running(repository, log_path, *flags, **options):
    """A ready server for one `with` block."""
    server = Server(repository, log_path, *flags, **options)
    try:
        server.wait_ready()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def example(tmp_path_factory):
    """The example repository, served; with the real models when `make models` was run."""
    with running(ROOT / "models", tmp_path_factory.mktemp("example") / "server.log") as server:
        yield server


def pytest_terminal_summary(terminalreporter):
    """Sums of the operator tests, and the reasons of all skips: a skip must not pass for a pass."""
    def outcome(kind):
        return [report for report in terminalreporter.stats.get(kind, []) if "test_onnx_operators" in report.nodeid]

    skips = terminalreporter.stats.get("skipped", [])
    if outcome("passed"):
        terminalreporter.write_line(f"  ONNX operators: {len(outcome('passed'))} passed, {len(outcome('failed'))} failed, "
                                    f"{len(outcome('skipped'))} not supported by the runtime or without a form in the protocol")
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ").split(" : ")[0] for report in skips)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"  skipped {count:>4}  {reason}")
