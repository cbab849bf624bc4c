"""Results to tables: mean and spread over seeds, a named average, published rows beside.

A missing cell is null and an average over a null is null and unranked, so that nothing incomplete
outranks anything complete. Scores of different suites, splits or metrics never share a column.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev

import numpy as np
import pandas as pd

from harness.averages import AVERAGES, Average, Term, combine, get_average, terms_of
from harness.published import Board, board_of_suite, load_board, published_entry, published_table
from harness.rendering import render
from harness.tables import PublishedBlock, Row, Score, Table
from harness.tasks import SUITES, TASKS, Column, Suite

__all__ = [
    "AVERAGES",
    "Average",
    "Board",
    "Table",
    "board_of_suite",
    "build",
    "load_board",
    "render",
    "seed_averages",
]
