"""Evidence: passages that an answer needs, and how much of them the retrieved chunks contain."""

from __future__ import annotations
