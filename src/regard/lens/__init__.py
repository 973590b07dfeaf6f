"""What each head did: the worked sheet and its checking, and the drawing of both."""
