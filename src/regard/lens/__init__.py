"""What each head did: watching any model and reading what was recorded, the worked sheet, and the drawing."""
