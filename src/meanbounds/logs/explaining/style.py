"""The style of the page: light and dark, phone, desk and paper."""

from __future__ import annotations

from meanbounds.support.theme import ROOT

__all__ = ["STYLE"]

_KINDS = ["agent", "nothing", "frequent", *(f"k{number}" for number in range(8))]

STYLE = f"""{ROOT}
* {{ box-sizing: border-box; }}
body {{ font: 17px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 64rem; padding: 1rem;
  color: var(--ink); background: var(--page); overflow-wrap: anywhere; }}
p, li, figcaption {{ max-width: 46rem; }}
h1 {{ font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0; }}
h2 {{ font-size: 1.35rem; line-height: 1.3; margin: 3rem 0 0.5rem; border-top: 2px solid var(--line);
  padding-top: 1rem; }}
h3 {{ font-size: 1.1rem; line-height: 1.3; margin: 2rem 0 0.4rem; }}
a {{ color: var(--accent); }}
code {{ font-size: 0.9em; }}
.soft, figcaption, caption {{ color: var(--soft); }}
.box {{ background: var(--tint); border-left: 4px solid var(--accent); padding: 0.6rem 1rem; margin: 1rem 0; }}
.box p, .box ol {{ margin: 0.4rem 0; }} .box ol {{ padding-left: 1.2rem; }} .box li + li {{ margin-top: 0.5rem; }}
.grid {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); gap: 1rem 2rem; }}
figure {{ margin: 0.5rem 0 1rem; }}
figcaption {{ font-size: 0.9rem; }}
svg[role=img] {{ display: block; width: 100%; max-width: 30rem; height: auto; }}
svg text {{ font: 12.5px system-ui, sans-serif; fill: var(--ink); }}
svg text.soft {{ fill: var(--soft); }} svg text.head {{ font-weight: 600; font-size: 13.5px; }}
.rule {{ stroke: var(--line); }} .dash {{ stroke: var(--ink); stroke-dasharray: 4 3; stroke-width: 1.5; }}
.naive {{ stroke: var(--naive); stroke-width: 2.5; fill: none; }}
  .way {{ stroke: var(--accent); stroke-width: 3; }}
.start {{ fill: var(--page); stroke: var(--accent); stroke-width: 2; }}
.tip {{ fill: var(--accent); }} .error {{ stroke: var(--ink); stroke-width: 1.5; }}
{" ".join(f".{kind} {{ --own: var(--{kind}); }}" for kind in _KINDS)} rect.average {{ fill: var(--naive); }}
rect {{ fill: var(--own); }} rect.pale {{ opacity: 0.3; }}
.o::before {{ content: ""; display: inline-block; width: 0.7em; height: 0.7em; margin-right: 0.3em; border-radius: 2px;
  background: var(--own); }}
.cross {{ color: var(--naive); font-weight: 700; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: 0.92rem; margin: 0.5rem 0; }}
caption {{ text-align: left; padding: 0.3rem 0; }}
th, td {{ text-align: left; vertical-align: top; padding: 0.3rem 1rem 0.3rem 0; border-top: 1px solid var(--line); }}
thead th {{ border-top: 0; color: var(--soft); font-weight: 600; }}
tbody th {{ font-weight: 600; }}
.n {{ text-align: right; }} .w {{ font-variant-numeric: tabular-nums; white-space: nowrap; }}
thead th, td {{ overflow-wrap: break-word; }} tbody th {{ min-width: 6rem; }}
details {{ margin: 0.5rem 0; }} summary {{ cursor: pointer; color: var(--accent); padding: 0.3rem 0; }}
.wrong {{ color: var(--naive); font-weight: 600; }}
@media (max-width: 600px) {{
  table.stack, .stack caption, .stack tbody, .stack tr, .stack th, .stack td {{ display: block; }}
  .stack thead {{ display: none; }} .stack tr {{ border-top: 1px solid var(--line); padding: 0.5rem 0; }}
  .stack th, .stack td {{ border: 0; padding: 0.1rem 0; text-align: left; white-space: normal; }}
  .stack td::before {{ content: attr(data-label) ": "; color: var(--soft); }}
  th, td {{ padding-right: 0.6rem; }}
}}
@media print {{
  body {{ font-size: 11pt; max-width: none; padding: 0; }}
  h2, h3 {{ break-after: avoid; }} figure, tr {{ break-inside: avoid; }} .wide {{ overflow: visible; }}
  .grid {{ grid-template-columns: 1fr 1fr; }}
}}
"""
"""Each colour has a contrast of at least 3 to 1 against the page, that of text 4.5 to 1, in light and in dark."""
