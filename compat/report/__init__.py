"""Reports of a run: a table per operator, type and mode as text, everything as JSON and as HTML."""

from .html import to_html
from .plain import Tally, reproduction, to_json, to_text

__all__ = ["Tally", "reproduction", "to_html", "to_json", "to_text"]
