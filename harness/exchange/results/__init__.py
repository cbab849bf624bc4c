"""Results that leave a store and come into another: two parquet files with a fixed schema."""
