"""Tests: the tree of src, and what they share."""
