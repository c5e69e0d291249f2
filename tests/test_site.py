"""The documentation as a web of pages: on GitHub every link leads somewhere; the site is complete and fetches nothing."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag

import needs
import pytest
import yaml

import ranklens as rl
from ranklens.metrics import definitions

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
CODE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!\w+:)([^)\s]+)")


def named(path):
    return path.relative_to(ROOT).as_posix()


def anchors(page):
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", CODE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_and_anchors_exist(page):
    for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        path, anchor = urldefrag(link)
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def reference():
    spec = importlib.util.spec_from_file_location("reference", DOCS / "website" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def navigation(part=None):
    """The pages that the navigation names, in order."""
    if part is None:
        part = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    if isinstance(part, str):
        return [part]
    inside = part.values() if isinstance(part, dict) else part
    return [page for each in inside for page in navigation(each)]


def test_the_navigation_holds_every_page_once():
    written = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    beside = {page.name.lower() for page in ROOT.glob("*.md") if page.name != "README.md"}
    api = {
        f"api/{reference().file_name(title)}" for title in (*reference().NAMES, *reference().MODULES, "index")
    }
    expected = written | beside | api | {"examples.md"}
    assert expected - set(navigation()) == set(), "add these to nav in mkdocs.yml"
    assert sorted(navigation()) == sorted(expected)


def test_the_reference_holds_every_public_name_once():
    assert sorted(" ".join(reference().NAMES.values()).split()) == sorted(rl.__all__)


@dataclass
class Page(HTMLParser):
    """What a page of the site has to be found by, fetches, links to, and says outside code."""

    ids: set = field(default_factory=set)
    fetched: list = field(default_factory=list)
    linked: list = field(default_factory=list)
    text: str = ""
    code: int = 0

    def __post_init__(self):
        super().__init__()

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given.get("id"), given.get("name") if tag == "a" else None} - {None}
        addresses = [
            given[name] for name in ("src", "srcset", "href", "data", "poster", "xlink:href") if name in given
        ]
        (self.linked if tag == "a" else self.fetched).extend(addresses)
        self.fetched += re.findall(r"url\(([^)]*)\)", given.get("style", ""))
        self.code += tag in ("pre", "code", "script", "style")

    def handle_endtag(self, tag):
        self.code -= tag in ("pre", "code", "script", "style")

    def handle_data(self, data):
        if not self.code:
            self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built strictly, in a folder of its own, without the network."""
    pytest.importorskip("zensical", reason="Zensical is not installed; scripts/docs installs it")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS / "website", folder / "docs" / "website")
    shutil.copytree(ROOT / "src", folder / "src")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    nowhere = dict.fromkeys(
        ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"),
        "http://127.0.0.1:9",
    )
    for command in (
        [DOCS / "website" / "stage.py", folder / "build" / "docs"],
        ["-m", "zensical", "build", "--config-file", "mkdocs.yml", "--strict", "--clean"],
    ):
        done = subprocess.run(
            [sys.executable, *command],
            check=False,
            cwd=folder,
            env={**os.environ, **nowhere},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def pages(site):
    """What is on each page, by its path; the live report is a page of its own kind."""
    found = {}
    for path in sorted(site.rglob("*.html")):
        found[path.resolve()] = page = Page()
        page.feed(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
def test_nothing_is_fetched_from_outside(site, pages):
    outside = re.compile(r"\s*[\"']?(?:https?:|//)")
    assert [
        (path, address) for path, page in pages.items() for address in page.fetched if outside.match(address)
    ] == []
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    styles += re.findall(
        r"<style.*?</style>", "".join(p.read_text(encoding="utf-8") for p in pages), re.DOTALL
    )
    assert [
        address
        for css in styles
        for address in re.findall(r"(?:url\(|@import )([^)]{0,80})", css)
        if outside.match(address)
    ] == []


@pytest.mark.slow
def test_what_a_page_needs_and_links_to_is_there(site, pages):
    report = (site / "examples" / "report.html").resolve()
    for path, page in pages.items():
        if (
            path == report or path.name == "404.html"
        ):  # the report is tested in a browser; 404 stands at any address
            continue
        for address in [*page.fetched, *page.linked]:
            if re.match(r"\w+:", address):
                continue
            local, anchor = urldefrag(re.sub(r"#only-(light|dark)$", "", address))  # pictures of one scheme
            target = (path.parent / unquote(local)).resolve() if local else path
            assert target.exists(), (path, address)
            assert not anchor or target == report or unquote(anchor) in pages[target].ids, (path, address)


@pytest.mark.slow
def test_every_page_can_be_found(site):
    index = json.loads((site / "search.json").read_text(encoding="utf-8"))
    assert {urldefrag(item["location"])[0] for item in index["items"]} >= {
        page.replace(".md", ".html") for page in navigation() if page != "index.md"
    }


@pytest.mark.slow
def test_every_public_name_is_explained(pages):
    ids = set().union(*(page.ids for page in pages.values()))
    assert [name for name in rl.__all__ if f"ranklens.{name}" not in ids] == []


@pytest.mark.slow
def test_docstrings_read_as_prose(pages):
    """No role, doctest or table of reStructuredText is left as it was written."""
    for path, page in pages.items():
        if path.parent.name == "api":
            assert re.findall(r":\w+:`|`|>>>|={4,}", page.text) == [], path


@pytest.mark.slow
def test_the_live_examples_are_the_librarys_own(site):
    assert "Content-Security-Policy" in (site / "examples" / "report.html").read_text(encoding="utf-8")
    assert len(list((site / "examples").glob("*.svg"))) == 10
    assert '<iframe class="live-report" src="examples/report.html"' in (site / "examples.html").read_text(
        encoding="utf-8"
    )


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def address(site):
    """Where a server of this machine shows the site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.slow
def test_a_reader_searches_sees_formulas_and_opens_the_report_without_a_request_outside(address):
    sync_api = pytest.importorskip("playwright.sync_api")
    needs.skip_without(needs.browser())
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=needs.chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        requests, errors = [], []
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{address}/index.html")
        page.get_by_role("button", name="Search").first.click()
        page.get_by_placeholder("Search").fill("wilcoxon")
        sync_api.expect(page.get_by_text("paired_test").first).to_be_visible()
        page.goto(f"{address}/measures.html")
        page.locator(".arithmatex .katex").first.wait_for()
        formulas = page.locator(".arithmatex")
        assert formulas.count() > len(definitions())  # and those of the notation
        assert page.locator(".arithmatex .katex-html").count() == formulas.count()
        assert page.locator(".katex-error").count() == 0
        assert page.evaluate("document.fonts.check('16px KaTeX_Math')")
        page.goto(f"{address}/examples.html")
        page.frame_locator("iframe.live-report").locator("html[data-ready]").wait_for(state="attached")
        browser.close()
    assert [url for url in requests if not url.startswith((address, "data:", "blob:"))] == []
    assert errors == []
