"""Every colour of the page and the charts, once for light and once for dark; and the dashes of lines.

The colours of systems follow Okabe and Ito, darkened (or lightened) until they stand out from the paper by 3 : 1; every
system also has its own shape and dash. None is grey, which would look disabled. The page knows a colour as a CSS variable of its name.
"""

from __future__ import annotations

from collections.abc import Mapping

SYSTEMS = ("#0072b2", "#d55e00", "#00805c", "#b04b8b", "#735300", "#4b2a9b", "#2f8ec4", "#7a1238")
_SYSTEMS_IN_THE_DARK = ("#5cb4ea", "#f58b4c", "#35c497", "#e695c6", "#e8b23a", "#9a86ff", "#b8e2ff", "#ff5c7f")  # fmt: skip
DASHES = ((1, 0), (7, 3), (2, 3), (9, 3, 2, 3), (4, 2), (12, 3), (1, 2), (6, 2, 1, 2))
BEHIND = "#b4b9bf"  # systems that do not stand out where there are many
NONE_TO_ALL = ("#ffffff", SYSTEMS[0])
WORSE_TO_BETTER = ("#e59a6c", "#ffffff", "#7fb6dd")

# g1 to g4: grades, from the lowest relevant one to the highest.
LIGHT: Mapping[str, str] = {
    "paper": "#faf9f7", "surface": "#ffffff", "ink": "#1c2127", "muted": "#5a636e", "line": "#e3e0da",
    "faint": "#f2f0ec", "accent": "#0b5fa5", "better": "#d9efe6", "better-ink": "#00563d",
    "worse": "#f9e3d6", "worse-ink": "#8a3200", "alarm": "#9c3a00", "g1": "#cfe9df", "g2": "#a3d6c3",
    "g3": "#5fb898", "g4": "#00785a", "g-ink": "#06382a", "g4-ink": "#ffffff",
    "shadow": "0 1px 2px rgb(30 25 15 / 6%), 0 4px 16px rgb(30 25 15 / 4%)",
    "veil": "rgb(10 12 16 / 45%)",
    **{f"s{i}": colour for i, colour in enumerate(SYSTEMS)},
}  # fmt: skip
DARK: Mapping[str, str] = {
    "paper": "#12151a", "surface": "#1a1f26", "ink": "#e6e9ed", "muted": "#9ca6b3", "line": "#2d353f",
    "faint": "#20262e", "accent": "#79b8f2", "better": "#12382d", "better-ink": "#8fe0c3",
    "worse": "#44281a", "worse-ink": "#ffb48a", "alarm": "#ffab7a", "g1": "#1b4237", "g2": "#1c5a48",
    "g3": "#17755b", "g4": "#4fd3a8", "g-ink": "#eafff7", "g4-ink": "#06281d",
    "shadow": "0 1px 2px rgb(0 0 0 / 30%)", "veil": "rgb(0 0 0 / 60%)",
    **{f"s{i}": colour for i, colour in enumerate(_SYSTEMS_IN_THE_DARK)},
}  # fmt: skip


def style() -> str:
    """The colours as CSS variables, and a class for each system that sets ``--c``; paper is always light."""
    rules = [
        _rule(":root", {"color-scheme": "light", **_variables(LIGHT)}),
        "@media screen {",
        _rule(':root[data-theme="dark"]', {"color-scheme": "dark", **_variables(DARK)}),
        "}",
        *(_rule(f".s{i}", {"--c": f"var(--s{i})"}) for i in range(len(SYSTEMS))),
    ]
    return "".join(f"{rule}\n" for rule in rules)


def _variables(colours: Mapping[str, str]) -> dict[str, str]:
    return {f"--{name}": colour for name, colour in colours.items()}


def _rule(selector: str, declarations: Mapping[str, str]) -> str:
    return f"{selector} {{ {' '.join(f'{name}: {value};' for name, value in declarations.items())} }}"
