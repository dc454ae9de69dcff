"""A study in the browser: live while it runs, or as one file to send to a colleague."""
