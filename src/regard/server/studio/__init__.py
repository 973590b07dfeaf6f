"""The studio's server: a page in the browser, and the numbers behind it. Nothing of it leaves this machine unasked."""
