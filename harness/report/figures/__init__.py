"""The figures of a report as SVG text; equal data gives equal bytes."""
