"""Agents in a store, and over HTTP: each decision and reward counts once, whatever happens in between."""
