"""Confidence limits on many means of one log: `limits` for one mean, `sets` and `sweep` for all arms of all contexts."""
