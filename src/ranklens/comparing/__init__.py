"""What a comparison is made of: aligned values, tests of pairs, tie groups, slices, and what to say about them."""
