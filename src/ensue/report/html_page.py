"""A page as one file: its style is in it, it loads nothing, and it can be read on a narrow screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from ensue.results.svg import Picture, element, title
from ensue.results.writers import write_text

_STYLE = """
:root{color-scheme:light}
body{font:15px/1.5 system-ui,sans-serif;color:#1a1a1a;background:#fff}
body{margin:0 auto;max-width:992px;padding:0 16px 48px}td{white-space:nowrap}
h1{font-size:1.4rem;margin:24px 0 4px}h2{font-size:1.1rem;margin:32px 0 8px;border-bottom:1px solid #dadce0}
pre,code,td{font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{background:#f6f7f8;padding:10px 12px;border-radius:6px;overflow-x:auto;margin:8px 0}
.wide{overflow-x:auto}.wide svg{max-width:none}.faint{color:#5f6368}
table{border-collapse:collapse}th{text-align:left;font-weight:600}th,td{padding:3px 14px 3px 0;vertical-align:top}
td.number,th.number{text-align:right}tbody tr:nth-child(odd){background:#f6f7f8}
.facts{display:flex;flex-wrap:wrap;gap:10px;padding:0;list-style:none}
.facts li{background:#f6f7f8;border-radius:6px;padding:8px 14px;min-width:90px}.facts b{display:block;font-size:1.25rem}
.warning{background:#fff4e5;border-left:4px solid #d55e00}
.charts{display:flex;flex-wrap:wrap;gap:16px}.charts figure{margin:0;flex:1 1 280px;min-width:0}
.charts svg{width:100%;height:auto}figcaption b{float:right}
"""


class Page:
    """A page: a notebook shows it, `str` is its HTML, and `save` writes it to a file."""

    def __init__(self, heading: str, *sections: str, refresh: int | None = None) -> None:
        self.heading, self._sections, self._refresh = heading, sections, refresh

    def __str__(self) -> str:
        again = "" if self._refresh is None else f'<meta http-equiv="refresh" content="{self._refresh}">'
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">'
            f"{again}<title>{escape(self.heading)}</title><style>{_STYLE}</style></head>\n"
            f"<body><h1>{escape(self.heading)}</h1>\n{''.join(self._sections)}</body></html>\n"
        )

    def __repr__(self) -> str:
        return f"<Page: {self.heading}>"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(str(self))}" style="width:100%;height:640px;border:0"></iframe>'

    def save(self, path: str | Path) -> None:
        """Writes the page to a file, which gets its name when it is complete."""
        write_text(str(self), str(path))


def section(name: str, *parts: str) -> str:
    """A part of the page with a heading; nothing where there is nothing in it."""
    return f"<section><h2>{escape(name)}</h2>{''.join(parts)}</section>\n" if any(parts) else ""


def text_block(text: str, *, warning: bool = False) -> str:
    """Lines as they are."""
    return f"<pre{' class=warning' if warning else ''}>{escape(text)}</pre>" if text else ""


def facts(named: dict[str, object]) -> str:
    """A few figures side by side."""
    each = (f"<li><b>{escape(_shown(value))}</b>{escape(name)}</li>" for name, value in named.items())
    return f'<ul class="facts">{"".join(each)}</ul>'


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; numbers are set to the right."""
    rows = list(rows)
    right = [bool(rows) and all(isinstance(row[k], int | float) for row in rows) for k in range(len(columns))]
    kinds = [' class="number"' if r else "" for r in right]
    head = "".join(f"<th{kind}>{escape(c)}</th>" for c, kind in zip(columns, kinds, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{escape(_shown(v))}</td>" for v, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def picture(drawn: Picture) -> str:
    """A picture that keeps its size: on a narrow screen it is moved, not made too small to read."""
    return f'<div class="wide">{drawn}</div>'


def chart(name: str, values: Sequence[float], labels: Sequence[str]) -> str:
    """The course of a figure, with its last value."""
    most, width, height = max([*values, 1]), 300.0, 70.0
    step = width / max(len(values), 1)
    bars = [
        element(
            "rect",
            title(f"{said}: {_shown(value)}"),
            x=k * step,
            y=height - height * value / most,
            width=max(step - 1, 0.5),
            height=height * value / most,
            fill="#0072b2",
        )
        for k, (value, said) in enumerate(zip(values, labels, strict=True))
    ]
    last = _shown(values[-1]) if values else "none yet"
    drawn = Picture(width, height, *bars, name=f"{name}: {last}")
    return f"<figure><figcaption>{escape(name)} <b>{escape(last)}</b></figcaption>{drawn}</figure>"


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
