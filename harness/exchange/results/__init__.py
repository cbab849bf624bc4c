"""Results from one store to another, as two parquet files with a fixed schema."""
