"""Results and published rows to tables, and tables to markdown, csv, html and latex."""

from harness.leaderboard.averages import AVERAGES, Average
from harness.leaderboard.building import build
from harness.leaderboard.measured import run_scores
from harness.leaderboard.published import Board, board_of_suite, load_board
from harness.leaderboard.rendering import render
from harness.leaderboard.tables import Table, protocol_line

__all__ = [
    "AVERAGES",
    "Average",
    "Board",
    "Table",
    "board_of_suite",
    "build",
    "load_board",
    "protocol_line",
    "render",
    "run_scores",
]
