"""Pictures as SVG, written by plain code: elements with escaped texts, and a picture that notebooks show."""

from __future__ import annotations

from html import escape
from pathlib import Path

from ensue.results.writers import write_text

#: Of a letter of the monospaced font, as a part of its size.
LETTER = 0.61
#: Colours that are told apart also without colour vision (Okabe and Ito), dark enough for white paper.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#946c00", "#2a7f9e", "#7a4fa3", "#5f5f5f")
_STYLE = (
    "text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:12px;fill:#1a1a1a}"
    ".faint{fill:#5f6368}.line{stroke:#9aa0a6;fill:none}.paper{fill:#ffffff}"
)


def element(name: str, *inside: str, **attributes: object) -> str:
    """One element; `_` in the name of an attribute stands for `-`, and at its end for nothing.

    >>> element("text", text_of("a < b"), x=1.25, class_="faint")
    '<text x="1.2" class="faint">a &lt; b</text>'
    """
    said = "".join(f' {k.rstrip("_").replace("_", "-")}="{_value(v)}"' for k, v in attributes.items())
    return f"<{name}{said}>{''.join(inside)}</{name}>" if inside else f"<{name}{said}/>"


def text_of(text: object) -> str:
    """A text as it may stand inside an element; characters that XML does not have are shown as one mark."""
    shown = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return escape(shown, quote=False)


def label(x: float, y: float, text: object, *, anchor: str = "start", **more: object) -> str:
    """A line of text."""
    return element("text", text_of(text), x=x, y=y, text_anchor=anchor, **more)


def title(text: object) -> str:
    """What is shown where the pointer rests."""
    return element("title", text_of(text))


def width_of(text: str, size: float = 12) -> float:
    """About how wide a line of text is."""
    return len(text) * size * LETTER


def _value(value: object) -> str:
    return f"{round(value, 1):g}" if isinstance(value, float) else escape(str(value))


class Picture:
    """A picture: a notebook shows it, `str` is its SVG, and `save` writes it to a file."""

    def __init__(self, width: float, height: float, *parts: str, name: str) -> None:
        self.width, self.height, self.name = round(width), round(height), name
        self._parts = parts

    def __str__(self) -> str:
        box = f"0 0 {self.width} {self.height}"
        style = element("style", _STYLE)
        paper = element("rect", width=self.width, height=self.height, class_="paper")
        return element(
            "svg",
            title(self.name),
            style,
            paper,
            *self._parts,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=box,
            width=self.width,
            height=self.height,
            role="img",
            aria_label=self.name,
        )

    def __repr__(self) -> str:
        return f"<Picture: {self.name}, {self.width} x {self.height}>"

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: str | Path) -> None:
        """Writes the picture to a file, which gets its name when it is complete."""
        write_text(f"{self}\n", str(path))
