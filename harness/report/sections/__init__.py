"""The sections of a report: each says what there is to show, or nothing where there is nothing."""
