"""The comparison report of an experiment: one page, its markdown twin, and the raw numbers."""

from harness.report.data import ReportData
from harness.report.page import write_report

__all__ = ["ReportData", "write_report"]
