"""What can be read afterwards: forward calls, maps, tokens, the file, and how true it all is."""
