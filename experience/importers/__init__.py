"""Transcripts of other people's tools, read into sessions and recorded as episodes.

One module a format, all of one shape (`session.Format`). A format says what a transcript says and guesses nothing: neither
whether the run worked, nor which skills it followed.
"""
