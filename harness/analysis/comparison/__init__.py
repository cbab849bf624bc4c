"""How sure it is that arms differ: runs resampled, the differences between arms, shared ranks."""
