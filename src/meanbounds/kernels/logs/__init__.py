"""Confidence limits on many means of one log: `limits` for one, `sets` and `sweep` for arms and contexts."""
