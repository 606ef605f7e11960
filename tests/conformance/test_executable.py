"""What is promised of the one file: it runs by itself, anywhere, soon and small."""
import os
import shlex
import shutil
import subprocess

import pytest
import requests
from conftest import COMMAND, ROOT, Server, free_ports, running

EXECUTABLE = ROOT / "dist" / "tribune"
MAX_EXECUTABLE_BYTES = 170_000_000
# On a quiet machine half a second; here it shares two cores with the rest of the tests.
MAX_READY_SECONDS = 2.0
MAX_IDLE_RSS_BYTES = 150_000_000

pytestmark = pytest.mark.skipif(not EXECUTABLE.exists(), reason="dist/tribune is not built (make build)")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A folder with nothing in it but the executable, read-only, and a repository of ten small models elsewhere."""
    folder, repository = tmp_path_factory.mktemp("alone"), tmp_path_factory.mktemp("ten")
    shutil.copy(EXECUTABLE, folder / "tribune")
    (folder / ".env").write_text("TRIBUNE_FROM_DOTENV=1\nTRIBUNE_LOG_VERBOSE=9\n")
    (folder / "bunfig.toml").write_text('preload = ["./missing.ts"]\n')
    for i in range(10):
        source = ("add_sub", "digits", "greet", "standardize")[i % 4]
        shutil.copytree(ROOT / "models" / source, repository / f"{source}_{i}")
        config = repository / f"{source}_{i}" / "config.pbtxt"
        if config.exists():
            config.write_text(config.read_text().replace(f'name: "{source}"', f'name: "{source}_{i}"'))
    folder.chmod(0o555)
    yield folder, repository
    folder.chmod(0o755)


def test_it_is_small():
    assert EXECUTABLE.stat().st_size <= MAX_EXECUTABLE_BYTES


def test_it_tells_its_version_and_helps():
    version = subprocess.run([EXECUTABLE, "--version"], capture_output=True, text=True, timeout=20)
    assert version.returncode == 0 and version.stdout.strip()
    helped = subprocess.run([EXECUTABLE, "help", "serve"], capture_output=True, text=True, timeout=20)
    assert helped.returncode == 0 and "--model-repository" in helped.stdout


def test_it_serves_ten_models_from_a_bare_read_only_folder(alone, tmp_path):
    folder, repository = alone
    home = tmp_path / "home"
    home.mkdir()
    bare = {"HOME": str(home), "XDG_CACHE_HOME": "", "TMPDIR": str(tmp_path), "NODE_PATH": ""}
    with running(repository, tmp_path / "first.log", cwd=folder, env=bare, command=f"{folder}/tribune serve"):
        pass
    # The first start unpacks the library; what counts is every start after it.
    server = Server(repository, tmp_path / "second.log", cwd=folder, env=bare, command=f"{folder}/tribune serve")
    try:
        ready_seconds = server.wait_ready()
        rss_bytes = server.rss_bytes()
        index = requests.post(f"{server.url}/v2/repository/index", timeout=10).json()
        print(f"ready after {ready_seconds:.2f} s, RSS {rss_bytes / 1e6:.0f} MB, {EXECUTABLE.stat().st_size / 1e6:.0f} MB on disk")
        assert [model["state"] for model in index] == ["READY"] * 10
        assert ready_seconds <= MAX_READY_SECONDS
        assert rss_bytes <= MAX_IDLE_RSS_BYTES
    finally:
        status = server.stop()
    assert status == 0
    assert sorted(path.name for path in folder.iterdir()) == [".env", "bunfig.toml", "tribune"]


def test_it_needs_no_network(alone, tmp_path):
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("needs root and unshare to take the network away")
    folder, repository = alone
    http, grpc, metrics = free_ports(3)
    script = (f"ip link set lo up 2>/dev/null || true; {folder}/tribune serve --model-repository={repository} --http-port={http} "
              f"--grpc-port={grpc} --metrics-port={metrics} >{tmp_path}/log 2>&1 & pid=$!; "
              "for i in $(seq 200); do grep -q 'Started HTTPService' " + f"{tmp_path}/log && break; sleep 0.05; done; kill -TERM $pid; wait $pid")
    done = subprocess.run(["unshare", "-rn", "sh", "-c", script], timeout=60, stdin=subprocess.DEVNULL)
    log = (tmp_path / "log").read_text()
    assert done.returncode == 0 and "Started HTTPService" in log, log[-2000:]


def test_a_taken_port_is_an_error_that_names_it(example, tmp_path):
    port = example.http.rsplit(":", 1)[1]
    done = subprocess.run([*shlex.split(COMMAND), f"--model-repository={ROOT}/models", "--http-address=127.0.0.1", f"--http-port={port}",
                           "--grpc-port=0", "--metrics-port=0"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert port in done.stdout + done.stderr
