"""Results and published rows to tables, and tables to markdown, csv, html and latex."""
