"""Asking retrievers: calls, time-outs and retries, reading what comes back, and keeping it on disk."""
