"""How meanbounds fits in with other packages; each module is imported by its own name, when it is used.

- `meanbounds.fits.river`: policies of meanbounds as policies of river (extra ``river``).
- `meanbounds.fits.gymnasium`: worlds of meanbounds as environments of Gymnasium (extra ``gymnasium``).
- `meanbounds.fits.obp`: logs and policies as the arrays of Open Bandit Pipeline, which itself is not needed.

Logs of others are read in `meanbounds.logs`, where pandas and Polars frames are taken too.
"""
