"""Decisions over HTTP that survive anything: `meanbounds serve`.

An append-only log in a store (SQLite or PostgreSQL) is the truth. Every decision, reward, observation and change of an
agent is an event with a position; nothing else changes the state.

- `events` says what the log holds, `store` what a store can do, `sqlite` and `postgres` are the two stores.
- `book` is the state: a snapshot, and the events after it applied in order. A decision is computed at its own place in
  the log, under the lock of the store, so it has seen exactly the events before it. Its random numbers follow from
  the agent's seed, the context, and how many decisions the context has had. So a replay takes the same arm with the
  same probability, bit by bit, whichever process decided; `verify` does that for a whole log.
- `writer` takes all commands that wait, looks up what they need (earlier requests with the same id, decisions that
  rewards are about), carries them out in order, and commits them as one group. Answers go out after the commit, which
  returns after the operating system has synced it to disk. If it fails, the state is read anew from the store before
  anything else is answered, and callers get 503: they send the same request again, and it counts once.
- With PostgreSQL several processes share a store: whoever holds its lock first applies what the others wrote. So they
  all add up the same rewards in the same order, and no two decisions draw the same random numbers.
- `commands` are what can be asked, `schema` how it is asked in JSON, `app` serves them over HTTP, `tokens` says who
  may ask.
- `served` is an agent with its version and settings, `history` what came of its decisions; `standing` and `looking` say
  what is known and what has come of it as answers do, and `page` shows that in a browser. `ofrep` lets OpenFeature ask.
- `metrics` counts for Prometheus, `saying` writes the lines of the log, `snapshots` saves the state beside the service.
- `client` asks from Python, and repeats a request with the same id until it is answered.
- `export` writes the log as a table, with the probability of every decision.

A decision is pending, then rewarded, expired (no reward within `wait`; the agent may then be told a default reward) or
censored (the caller gives up). A reward that comes after the decision expired takes the place of the default, once.
Erasing a context replaces its name in the whole log (`erasing`), so that its statistics stay and a replay still gives
the same. Versions and snapshots have a number in place of each name (`packing`), so that one row changes for all.
"""

from meanbounds.support.optional import optional

with optional("service", "services"):
    from meanbounds.service.app import Service
    from meanbounds.service.client import AsyncClient, Client, ServiceError
    from meanbounds.service.export import export, log_table
    from meanbounds.service.store import Store, StoreError, open_store
    from meanbounds.service.tokens import make_token
    from meanbounds.service.verify import Verdict, verify

__all__ = [
    "AsyncClient",
    "Client",
    "Service",
    "ServiceError",
    "Store",
    "StoreError",
    "Verdict",
    "export",
    "log_table",
    "make_token",
    "open_store",
    "verify",
]
