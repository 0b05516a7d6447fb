"""The programs in which agents run, and how the library gets into them and out again.

`splicing` changes one place of a JSON text and no other, `claude_code` knows what Claude Code's settings look like, `settings`
reads and writes the files, `hooks` is what a host calls. No host is started here.
"""
