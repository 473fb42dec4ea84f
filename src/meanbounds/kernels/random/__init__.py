"""Random numbers addressed by where they are used, and the rewards drawn from them."""
