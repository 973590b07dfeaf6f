"""The maps in a browser: the script that draws them, and a notebook widget, given what to draw and whom to ask."""

from regard.widget.script import loader, packed_script, script
from regard.widget.view import Still, widget

__all__ = ["Still", "loader", "packed_script", "script", "widget"]
