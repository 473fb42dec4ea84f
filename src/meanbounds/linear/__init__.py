"""Arms with features (Section 4 of the paper): what the bounds allow, and the policies that learn one parameter."""
