"""A real browser asks the server: the page of docs/browser-example by Connect and by gRPC-web."""
import html
import re
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlencode

import pytest
from conftest import ROOT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PAGE_SECONDS = 20

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine (apt-get install chromium)")


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Nothing on the terminal."""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Address of the page, served from another port of this machine: for the browser a foreign origin."""
    folder = tmp_path_factory.mktemp("page")
    subprocess.run([ROOT / "node_modules/.bin/bun", ROOT / "deploy/build-browser-example.ts", folder / "index.html"], cwd=ROOT, check=True, capture_output=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def open_page(page, profile, **parameters):
    """(state, text) of the page's answer, as the browser has it when the page is quiet."""
    dump = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}",
         f"--virtual-time-budget={PAGE_SECONDS * 1000}", "--dump-dom", f"{page}?{urlencode(parameters)}"],
        capture_output=True, text=True, timeout=PAGE_SECONDS * 3, stdin=subprocess.DEVNULL).stdout
    answer = re.search(r'id="answer"[^>]*data-state="(\w+)"[^>]*>([^<]*)<', dump)
    assert answer, dump[-2000:]
    return answer[1], html.unescape(answer[2])


@pytest.mark.parametrize("protocol", ["connect", "grpc-web"])
def test_the_page_reads_a_seven(example, page, tmp_path, protocol):
    state, text = open_page(page, tmp_path, server=example.url, protocol=protocol)
    assert state == "answered", text
    assert text.splitlines()[0].startswith("seven ")


def test_the_page_shows_an_error_when_nobody_answers(page, tmp_path):
    state, text = open_page(page, tmp_path, server="http://127.0.0.1:9", protocol="connect")
    assert state == "failed" and "ConnectError" in text
