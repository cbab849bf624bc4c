"""What must hold of a declared experiment beyond the types of its fields."""
