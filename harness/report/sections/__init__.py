"""The sections of a report: functions of the results that return a section, or null if empty."""
