"""The parts of the page, one file for each, in the order in which it shows them."""
