"""A search endpoint that is called over HTTP: an address and a template of the request in place of Python code."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, InvalidURL
from urllib.error import HTTPError
from urllib.parse import quote_plus, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ranklens.data.readers.paths import follow
from ranklens.errors import InputError, RankLensError
from ranklens.redaction import hide, redacted

PATIENCE = 60.0  # seconds, if no time limit is given: a server that never answers must not hold a run forever
_LARGEST = 64 * 2**20  # bytes of an answer
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SECRET = re.compile("auth|cookie|credential|key|password|secret|token", re.IGNORECASE)  # in names of headers
_LONG = 8  # letters
_PLACES = re.compile(r"\{(query|k)\}")
_EACH = re.compile(r"(?:^|\.)\*(?:\.|$)|\[\*?\]\.?")  # results.*.id, also written results[*].id


class EndpointError(RankLensError):
    """A call that failed: what the server said."""


@dataclass(frozen=True)
class Endpoint:
    """A retriever that sends every query to an HTTP address and returns the JSON that comes back.

    ``{query}`` and ``{k}`` in ``url`` and ``body`` are replaced; without a ``body`` the request is a GET. ``${NAME}`` in ``url``
    and ``headers`` is the environment variable of that name, without white space around it, so that no secret is in a file; errors
    show ``${NAME}`` in place of its value. ``results`` is the path to the list of results; responses that :func:`ranklens.hits`
    recognises need none.

    >>> endpoint = Endpoint("http://localhost:9200/docs/_search", {"size": "{k}", "query": {"match": {"text": "{query}"}}})
    >>> endpoint.request("why?", 5).data
    b'{"size": 5, "query": {"match": {"text": "why?"}}}'
    """

    url: str
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    method: str | None = None
    results: str | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        place = urlsplit(self.url)
        if place.scheme not in ("http", "https") or not place.netloc:
            raise InputError(f"{self.url!r} is not allowed: an address begins with http:// or https://.")
        if "{query}" not in self.url and "{query}" not in json.dumps(self.body):
            raise InputError(
                "Neither url nor body contains {query}, so every query would get the same answer; write it where the text of "
                "the query belongs."
            )

    def __call__(self, query: str, k: int) -> object:
        answer = self._answer(self.request(query, k))
        if self.results is None:
            return answer
        results = follow(answer, self.results) if self.results else answer
        if not isinstance(results, list):
            where = f"at {self.results!r}" if self.results else "at its top"
            raise EndpointError(
                f"The answer has no list {where}; it begins with {_start(json.dumps(answer))}"
            )
        return results

    def request(self, query: str, k: int) -> Request:
        """What is sent for one query."""
        values: dict[str, object] = {"query": query, "k": k}
        data = None
        if isinstance(self.body, str):  # sent as it is, with what is filled in escaped for JSON
            escaped = {"query": json.dumps(query, ensure_ascii=False)[1:-1], "k": str(k)}
            data = _PLACES.sub(lambda at: escaped[at[1]], self.body).encode()
        elif self.body is not None:
            data = json.dumps(_filled(self.body, values), ensure_ascii=False).encode()
        usual = {"accept": "application/json", "user-agent": "ranklens"}
        if data is not None:
            usual["content-type"] = "application/json"
        own = {name.lower(): _from_environment(value).strip() for name, value in self.headers.items()}
        for name, value in own.items():
            for word in value.split() if _SECRET.search(name) else ():
                if len(word) >= _LONG:  # not "Bearer" and its like
                    hide(word, f"[{name}]")
        address = _PLACES.sub(lambda at: quote_plus(str(values[at[1]])), _from_environment(self.url))
        method = (self.method or ("GET" if data is None else "POST")).upper()
        return Request(address, data, {**usual, **own}, method=method)  # noqa: S310  http alone, checked above

    def _answer(self, asked: Request) -> object:
        parts = urlsplit(self.url)
        place = (
            f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"  # without what may be secret
        )
        try:
            with _OPENER.open(asked, timeout=self.timeout or PATIENCE) as response:
                content = response.read(_LARGEST + 1)
        except HTTPError as refused:
            if refused.code in (301, 302, 303, 307, 308):
                target = refused.headers.get("location")
                raise EndpointError(
                    f"{place} redirects to {target}; set url to the address that answers."
                ) from None
            body = _start(refused.read(2000).decode("utf-8", "replace"))
            raise EndpointError(
                f"{place} answered with status {refused.code} ({refused.reason}): {body}"
            ) from None
        except TimeoutError:
            raise TimeoutError(f"{place} did not answer in time.") from None
        except InvalidURL:  # whose text is the whole address
            raise EndpointError(
                f"{place} is not a valid address: check its port, and look for spaces and control characters."
            ) from None
        except (OSError, HTTPException) as failed:  # a URLError is an OSError
            reason = getattr(failed, "reason", failed)
            if isinstance(reason, TimeoutError):
                raise TimeoutError(f"{place} did not answer in time.") from None
            raise EndpointError(f"{place} cannot be reached: {reason}.") from None
        except ValueError as wrong:  # a header or an address that HTTP does not allow
            raise EndpointError(f"{place} cannot be asked: {wrong}.") from None
        if len(content) > _LARGEST:
            raise EndpointError(f"{place} answered with more than {_LARGEST // 2**20} MB.")
        try:
            return json.loads(content)
        except ValueError:
            start = _start(content.decode("utf-8", "replace"))
            raise EndpointError(f"{place} answered with something that is not JSON: {start}") from None


def split_path(path: str) -> tuple[str | None, str | None]:
    """A path from the top of an answer as the path to its list and the path inside of each entry.

    Without a ``*`` the list is found by itself, and the path is one inside of each entry.

    >>> split_path("results.*.doc.key"), split_path("ids[*]"), split_path("_source.sku")
    (('results', 'doc.key'), ('ids', None), (None, '_source.sku'))
    """
    parts = _EACH.split(path)
    if len(parts) > 2:
        raise InputError(f"{path!r} is not allowed: it has more than one '*'; one list contains the results.")
    return (None, path) if len(parts) == 1 else (parts[0], parts[1] or None)


class _NoRedirect(HTTPRedirectHandler):
    """Following would send the headers, which may hold a key, to whatever address the server names."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = build_opener(_NoRedirect)


def _filled(part: object, values: Mapping[str, object]) -> object:
    if isinstance(part, Mapping):
        return {key: _filled(value, values) for key, value in part.items()}
    if isinstance(part, list):
        return [_filled(value, values) for value in part]
    if not isinstance(part, str):
        return part
    if part == "{k}":  # alone it stays a number
        return values["k"]
    return _PLACES.sub(lambda at: str(values[at[1]]), part)


def _from_environment(text: str) -> str:
    missing = [name for name in _VARIABLE.findall(text) if name not in os.environ]
    if missing:
        raise InputError(f"The environment variable {missing[0]} is not set, and the endpoint needs it.")

    def value(at: re.Match[str]) -> str:
        secret = os.environ[at[1]].strip()
        hide(secret, at[0])
        return secret

    return _VARIABLE.sub(value, text)


def _start(text: str) -> str:
    line = " ".join(redacted(text).split())
    return f"{line[:200]} …" if len(line) > 200 else line or "(nothing)"
