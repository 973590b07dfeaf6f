"""One run from beginning to end: its folder, what it is built of, how it resumes and what it leaves."""
