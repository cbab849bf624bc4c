"""The figures of a report, as SVG: equal data gives equal bytes."""
