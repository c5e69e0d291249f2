"""The names that comparisons take, as types: a type checker sees a typo before it runs. A test keeps them complete."""

from __future__ import annotations

from typing import Literal, TypeAlias

Test: TypeAlias = Literal[
    "randomization", "t", "wilcoxon", "sign", "mcnemar", "bootstrap", "welch", "tukey", "tukey-randomized"
]
Correction: TypeAlias = Literal["bonferroni", "holm", "hochberg", "hommel", "bh", "by", "none"]
