"""Serves the example repository and says what to try: serve_example.py EXECUTABLE REPOSITORY [FLAG …].

The server keeps the terminal; a signal to this program goes on to it. Only the standard library is used.
"""
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

POLL_SECONDS = 0.05
GIVE_UP_SECONDS = 60
READY = """
  ready   HTTP http://localhost:{http}   gRPC localhost:{grpc}   metrics http://localhost:{metrics}/metrics
  try     curl -s http://localhost:{http}/v2/models/digits/infer -d @models/digits/seven.json
  browser `make browser` makes a page that asks this server
  stop    Ctrl-C
"""


def port_of(flags: list[str], name: str, default: str) -> str:
    """The value of --NAME-port in the flags, in either form; the last one counts, as in the server."""
    port = default
    for at, flag in enumerate(flags):
        if flag.startswith(f"--{name}-port="):
            port = flag.split("=", 1)[1]
        elif flag == f"--{name}-port" and at + 1 < len(flags):
            port = flags[at + 1]
    return port


def tell_when_ready(server: subprocess.Popen, flags: list[str]) -> None:
    ports = {name: port_of(flags, name, default) for name, default in (("http", "8000"), ("grpc", "8001"), ("metrics", "8002"))}
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{ports['http']}/v2/health/ready", timeout=1):
                print(READY.format(**ports), flush=True)
                return
        except (urllib.error.URLError, OSError):
            time.sleep(POLL_SECONDS)


def main() -> int:
    executable, repository, *flags = sys.argv[1:]
    server = subprocess.Popen([executable, "serve", f"--model-repository={repository}", *flags])
    # Ctrl-C reaches the server too, by the terminal; here it must only not end the wait.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Once: make sends it to its children too, and a second one ends the server without a drain.
    signal.signal(signal.SIGTERM, lambda *_: (signal.signal(signal.SIGTERM, signal.SIG_IGN), server.terminate()))
    threading.Thread(target=tell_when_ready, args=(server, flags), daemon=True).start()
    return server.wait()


if __name__ == "__main__":
    sys.exit(main())
