"""What is learned from episodes: skills distilled from those that worked, and what became of the runs that followed them."""
