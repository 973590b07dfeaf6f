"""Attention as one interactive page, offline in any browser, or in a notebook."""

from regard.lens.draw.page.document import fragment, page
from regard.lens.draw.page.notebook import show
from regard.lens.draw.page.payload import PageOptions

__all__ = ["PageOptions", "fragment", "page", "show"]
