"""What may be asked of one head's map while it is looked at: by the studio, by a notebook's widget."""
