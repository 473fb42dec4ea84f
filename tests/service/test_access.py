"""Who is admitted: by which token, from where, and what happens while that cannot be looked up."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from meanbounds.service import access as access_module
from meanbounds.service import limits
from meanbounds.service.access import SCOPES, Access, Who, make_token, revoke_token
from meanbounds.service.database import Database, connect
from meanbounds.service.refusals import RefusedError, StoreError
from tests.service.asking import LOCAL, until

Header = tuple[bytes, bytes]
HOST: Header = (b"host", b"localhost:8000")
EVERY = 0.02


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(connect(tmp_path / "clinic.db", create=True)) as made:
        yield made


@pytest.fixture
def access(database: Database) -> Iterator[Access]:
    own = Access(database, EVERY)
    own.start()
    yield own
    own.close()


def admit(access: Access, *headers: Header, peer: Any = LOCAL, scope: str = "decide") -> int:
    """The status of the answer to somebody."""
    try:
        access.admit(headers, peer, scope, "clinic")
    except RefusedError as error:
        return error.status
    return 200


def bearer(token: str) -> Header:
    return b"authorization", b"Bearer " + token.encode()


def test_a_store_keeps_a_hash_of_a_token(database: Database) -> None:
    token = make_token(database, ["read", "decide"], agents=["b", "a"], name="ward", days=2)
    (row,) = database.tokens()
    assert token.startswith(f"mb_{row.id}_")
    assert token.rpartition("_")[2] not in repr(row)
    assert (row.scopes, row.agents, row.name) == ('["decide", "read"]', '["a", "b"]', "ward")
    assert row.expires == pytest.approx(time.time() + 2 * 86_400, abs=60)
    for scopes, days in (([], 1), (["rule"], 1), (["read"], 0), (["read"], float("nan"))):
        with pytest.raises(ValueError, match=r"scopes are|days must"):
            make_token(database, scopes, days=days)
    with pytest.raises(ValueError, match="no token has"):
        revoke_token(database, "")


def test_only_the_whole_token_is_admitted(database: Database, access: Access) -> None:
    token, other = make_token(database, ["decide"], name="ward"), make_token(database, ["decide"], agents=["b"])
    until(lambda: admit(access, bearer(other)) == 403)
    number, secret = token.split("_", 2)[1:]
    key: Header = (b"x-api-key", token.encode())
    assert access.admit([bearer(token)], None, "decide", "clinic") == Who("ward", None, number)
    assert admit(access, (b"authorization", b"bearer  " + token.encode())) == admit(access, key) == 200
    assert admit(access, bearer(token), scope="admin") == 403
    wrong = [token[:-1], f"{token}A", f"mb_{number}_", f"mb_{number}", f"mb_000000000000_{secret}", f"mb__{secret}"]
    for text in (*wrong, f"mb_{number}_{other.rpartition('_')[2]}", "", "é", f"{token} {token}", f"{number}_{secret}"):
        assert admit(access, bearer(text)) == 401, text
    basic: Header = (b"authorization", b"Basic " + token.encode())
    for headers in ([], [bearer(token)] * 2, [bearer(token), key], [basic]):
        assert admit(access, *headers) == 401, headers


def test_tokens_end(database: Database, access: Access) -> None:
    short, long = make_token(database, ["decide"], days=1.0 / 86_400), make_token(database, ["decide"], name="ward")
    until(lambda: admit(access, bearer(short)) == 200 == admit(access, bearer(long)))
    until(lambda: admit(access, bearer(short)) == 401)
    assert admit(access, bearer(long)) == 200
    revoke_token(database, "ward")
    until(lambda: admit(access, bearer(long)) == 401)


@pytest.fixture(params=["tokens", "loopback"])
def entitled(request: pytest.FixtureRequest, database: Database) -> Header:
    """What is enough to be admitted."""
    token = make_token(database, SCOPES)
    with database.writing():
        database.put("meta", ("access", request.param))
    return HOST if request.param == "loopback" else bearer(token)


def test_nobody_passes_before_tokens_were_read(database: Database, entitled: Header) -> None:
    assert admit(Access(database), entitled) == 503


@pytest.mark.parametrize("what", ["connect", "reading", "tokens", "meta"])
def test_nobody_passes_while_tokens_cannot_be_read(
    database: Database, entitled: Header, what: str, monkeypatch: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(_database: Database) -> None:
        raise StoreError("busy", "/secret/clinic.db is locked")

    monkeypatch.setattr(access_module if what == "connect" else type(database), what, fail)
    access = Access(database, EVERY)
    access.start()
    assert admit(access, entitled) == admit(access, bearer("mb_0_0")) == 503
    assert access.known is None
    monkeypatch.undo()
    until(lambda: admit(access, entitled) == 200)
    monkeypatch.setattr(type(database), "tokens", fail)
    until(lambda: admit(access, entitled) == 503, 3.0)
    access.close()
    said = capfd.readouterr().err
    assert "busy" in said
    assert "secret" not in said


def test_nobody_passes_while_reading_hangs(
    database: Database, entitled: Header, access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, go_on, now = threading.Event(), threading.Event(), time.monotonic
    until(lambda: admit(access, entitled) == 200)

    def hang(_database: Database) -> list[Any]:
        hangs.set()
        go_on.wait(20)
        return []

    monkeypatch.setattr(type(database), "tokens", hang)
    assert hangs.wait(5)
    assert admit(access, entitled) == 200
    monkeypatch.setattr(time, "monotonic", lambda: now() + 5.0)
    assert admit(access, entitled) == 503
    go_on.set()


def beside_host(name: bytes, *values: bytes) -> list[tuple[Header, ...]]:
    return [((name, value),) if name == b"host" else (HOST, (name, value)) for value in values]


def test_a_store_is_open_to_this_machine_only(database: Database, access: Access) -> None:
    token = make_token(database, ["read"])
    with database.writing():
        database.put("meta", ("access", "loopback"))
    until(lambda: admit(access, HOST) == 200)
    own = beside_host(b"origin", b"http://localhost:8000") + beside_host(b"sec-fetch-site", b"same-origin", b"none")
    for headers in own + beside_host(b"host", b"127.0.0.1", b"[::1]:80", b"LOCALHOST"):
        assert admit(access, *headers, scope="admin") == 200, headers
    relayed = b"forwarded", b"x-forwarded-for", b"x-forwarded-any", b"x-real-ip", b"via"
    far = [headers for name in relayed for headers in beside_host(name, b"127.0.0.1")]
    far += beside_host(b"origin", b"http://example.org", b"null", b"http://localhost:8001", b"")
    far += beside_host(b"sec-fetch-site", b"cross-site", b"same-site", b"")
    far += [
        *beside_host(b"host", b"clinic.example", b"localhost.example", b"localhost:8000@example.org", b""),
        (),
        (HOST, HOST),
    ]
    for headers in far:
        assert admit(access, *headers) == 403, headers
    assert admit(access, HOST, peer=("::1", 1)) == 200
    for peer in (None, (), ("10.0.0.1", 1), ("0.0.0.0", 1), ("::ffff:10.0.0.1", 1), ("localhost", 1), (None, 1)):
        assert admit(access, HOST, peer=peer) == 403, peer
    assert (admit(access, HOST, bearer("mb_0_0")), admit(access, HOST, bearer(token))) == (401, 403)
    with database.writing():
        database.put("meta", ("access", "everybody"))
    until(lambda: admit(access, HOST) == 401)


def test_new_contexts_are_limited_for_each_token(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NEW_CONTEXTS", 3)
    access, now = Access(database), time.monotonic
    for number in ("1", "1", "1", "2"):
        access.count_contexts(Who("ward", id=number), 1)
    with pytest.raises(RefusedError, match="more than 3 new contexts") as caught:
        access.count_contexts(Who("ward", id="1"), 1)
    assert caught.value.status == 429
    monkeypatch.setattr(time, "monotonic", lambda: now() + 3_601.0)
    access.count_contexts(Who("ward", id="1"), 1)
