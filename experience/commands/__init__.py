"""The commands of `experience`, a module a kind; `cli.py` puts them together."""
