"""What each head did as page, picture and terminal: reads a forward call, and hands drawing a measured map."""
