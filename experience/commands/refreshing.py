"""`refresh`: what recall by embedding needs, made for what was recorded since."""

import click

from experience.commands.common import Settings, count, refresh_with_bar, remark


@click.command()
@click.option("--rebuild", is_flag=True, help="Make the keyword index and the vectors anew from the records.")
@click.pass_obj
def refresh(settings: Settings, /, rebuild: bool) -> None:
    """Embed what has no vector yet, so that recall by embedding finds it."""
    with settings.memory() as memory:
        if rebuild:
            remark(f"rebuilt the keyword index of {count(memory.store.rebuild(), 'episode')}")
        done = refresh_with_bar(memory)
    remark(f"embedded {count(done, 'episode')}")
