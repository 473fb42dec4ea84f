"""Arms that have nothing in common: each policy's round as its definition says it, and the tables that it reads."""
