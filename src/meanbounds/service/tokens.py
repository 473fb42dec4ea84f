"""Who may ask: bearer tokens with scopes, of which the store has hashes only."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable

from meanbounds.service.errors import RefusalError
from meanbounds.service.store import Store, Token

__all__ = ["SCOPES", "Guard", "make_token"]

SCOPES = ("decide", "reward", "observe", "admin")
"""What a token can allow: ask for decisions, report rewards, report observations, and change agents."""

_PREFIX = "mb"
_NOBODY = Token("", b"", frozenset(SCOPES), None, "", None, False)
_FALSE = hashlib.sha256(b"").digest()


def make_token(
    store: Store,
    scopes: Iterable[str],
    *,
    agents: Iterable[str] | None = None,
    name: str = "",
    days: float | None = None,
) -> str:
    """Make a token. It is returned once: the store keeps a hash of it.

    Parameters
    ----------
    store
        The store.
    scopes
        What it allows, some of `SCOPES`.
    agents
        The agents for which it is; all by default.
    name
        Who has it, for the list of tokens.
    days
        After how many days it expires; never by default.

    Examples
    --------
    >>> from meanbounds.service import make_token, open_store
    >>> make_token(open_store("sqlite::memory:"), ["decide", "reward"])[:3]
    'mb_'
    """
    wanted = frozenset(scopes)
    if not wanted or not wanted <= set(SCOPES):
        raise ValueError(f"scopes are some of {', '.join(SCOPES)}; got {', '.join(sorted(wanted)) or 'none'}")
    number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    expires = None if days is None else time.time() + 86_400.0 * days
    code = hashlib.sha256(secret.encode()).digest()
    store.add_token(Token(number, code, wanted, None if agents is None else frozenset(agents), name, expires, False))
    return f"{_PREFIX}_{number}_{secret}"


class Guard:
    """Admits requests by their token, and counts how many each token has sent.

    Parameters
    ----------
    rate
        How many requests a second each token may send, in the long run; a tenth of a minute's worth may come at once.
        None for any number.

    Examples
    --------
    >>> from meanbounds.service.tokens import Guard
    >>> Guard().admit(None, "decide").name  # there are no tokens: everybody may
    ''
    """

    def __init__(self, rate: float | None = None) -> None:
        self._tokens: dict[str, Token] = {}
        self._rate = rate
        self._spent: dict[str, tuple[float, float]] = {}  # of each token: when, and how much was left then

    @property
    def is_open(self) -> bool:
        """Whether there are no tokens, so that everybody may do everything."""
        return not self._tokens

    def know(self, tokens: Iterable[Token]) -> None:
        """Take over the tokens of the store."""
        self._tokens = {token.id: token for token in tokens}

    def admit(self, authorization: str | None, scope: str | None) -> Token:
        """The token of a request that may do this; a refusal does not say what was wrong with a token.

        Parameters
        ----------
        authorization
            The header of this name.
        scope
            What the request needs; None: any token will do.
        """
        if self.is_open:
            return self._pay(_NOBODY)
        token = self._find(authorization)
        if token is None:
            raise RefusalError(401, "unauthorized", "send a valid token: Authorization: Bearer mb_...")
        if scope is not None and scope not in token.scopes:
            raise RefusalError(403, "forbidden", f"this token lacks the scope {scope}; make one with meanbounds token")
        return self._pay(token)

    def _find(self, authorization: str | None) -> Token | None:
        word, _, text = (authorization or "").partition(" ")
        parts = text.strip().split("_", 2)
        known = len(parts) == 3 and word.lower() == "bearer" and parts[0] == _PREFIX
        token = self._tokens.get(parts[1]) if known else None
        # The comparison takes as long for an id that does not exist.
        code = hashlib.sha256(parts[-1].encode("utf-8", "replace")).digest()
        right = hmac.compare_digest(code, _FALSE if token is None else token.hash)
        if token is None or not right or token.revoked:
            return None
        return None if token.expires is not None and token.expires < time.time() else token

    def _pay(self, token: Token) -> Token:
        """Refuse a token that has sent too many requests."""
        if self._rate is not None:
            now, burst = time.monotonic(), max(1.0, 6.0 * self._rate)
            when, left = self._spent.get(token.id, (now, burst))
            left = min(burst, left + (now - when) * self._rate) - 1.0
            if left < 0.0:
                raise RefusalError(429, "too_many", f"more than {self._rate:g} requests a second; send fewer")
            self._spent[token.id] = now, left
        return token
