"""Speed and memory against other libraries, measured side by side: ``python -m benchmarks.run``."""
