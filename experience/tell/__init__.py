"""What a run is told: the brief, the payload it stands in, and one exchange kept within its budget."""
