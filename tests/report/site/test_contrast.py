"""Colours of site and reports, by day, by night and in print: what weak eyes can read."""

import re
from itertools import product

import pytest

from harness.report.layout import TEMPLATES

STYLES = (TEMPLATES / "theme.css").read_text()
ENOUGH = 4.5
"""Of small letters, by WCAG 2.2, criterion 1.4.3 (level AA)."""


def palettes():
    """Name to colour by day, by night and in print; what is not set again stays as by day."""
    blocks = re.findall(r":root {(.*?)}", STYLES, re.S)
    roots = [dict(re.findall(r"--(\w+): (#\w+)", block)) for block in blocks]
    assert len(roots) == 3
    return [{**roots[0], **root} for root in roots]


def luminance(colour):
    """Relative, by WCAG 2.2's definition."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first, second):
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_known_pairs():
    assert contrast("#000", "#fff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # as W3C gives it


@pytest.mark.parametrize("light", range(3))
def test_letters_can_be_read(light):
    colours = palettes()[light]
    for letters, ground in product(("ink", "soft", "link", "blue", "orange"), ("paper", "tint")):
        assert contrast(colours[letters], colours[ground]) >= ENOUGH, (letters, ground)
