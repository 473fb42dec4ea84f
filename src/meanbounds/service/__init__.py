"""Agents in a store, and over HTTP: each decision and reward counts once, whatever happens in between."""

from meanbounds.support.optional import import_optional

import_optional("msgspec", "service", "stores")
