"""`python -m experience` is the command `experience`."""

from experience.cli import main

if __name__ == "__main__":
    main(prog_name="experience")
