"""What a user declares, and the arms it resolves to."""
