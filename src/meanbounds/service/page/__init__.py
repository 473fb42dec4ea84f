"""The page of a service, at `/`: what is known in each context, what came of it, and the emergency stop.

It is three files without a build step, which ask the service for everything that they show.
"""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from meanbounds.support.theme import ROOT

__all__ = ["page_routes"]

_PARTS = {
    "/": ("page.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}
_HEADERS = {
    # Nothing from elsewhere runs here, and no other page can frame the emergency stop.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def page_routes() -> list[Route]:
    """The routes of the page and of what it loads.

    Examples
    --------
    >>> from meanbounds.service.page import page_routes
    >>> [route.path for route in page_routes()]
    ['/', '/page.js', '/page.css']
    """
    return [_route(path, name, kind) for path, (name, kind) in _PARTS.items()]


def _route(path: str, name: str, kind: str) -> Route:
    content = files("meanbounds.service.page").joinpath(name).read_text(encoding="utf-8")
    if name == "page.css":
        content = ROOT + "\n" + content

    async def give(_request: Request) -> Response:
        return Response(content, media_type=kind, headers=_HEADERS)

    return Route(path, give, methods=["GET"])
