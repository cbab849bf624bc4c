"""Two arms, of one experiment or of two: differences, flipped examples, differing fields."""
