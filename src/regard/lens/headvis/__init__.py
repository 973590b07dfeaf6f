"""Recordings for HeadVis, a viewer of attention heads in the browser."""

from regard.lens.headvis.headvis_folder import HeadVisReport, write_headvis

__all__ = ["HeadVisReport", "write_headvis"]
