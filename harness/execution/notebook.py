"""A progress bar in notebooks, updated in place by IPython."""

from collections.abc import Iterable
from html import escape


class NotebookBar:
    """The progress of a run as HTML, shown where the cell prints."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html = HTML
        self._handle = display(HTML(""), display_id=True)

    def update(
        self, name: str, done: int, total: int, left: str, running: Iterable[tuple[str, ...]]
    ) -> None:
        """Shows the stages done, the time left as text, and a row for each running stage."""
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in running
        )
        bar = f'<progress value="{done}" max="{total}"></progress>'
        text = f"<b>{escape(name)}</b> {bar} {done} of {total} stages {escape(left)}"
        self._handle.update(self._html(f"<div>{text}</div><table>{rows}</table>"))
