"""Programs for those who work on meanbounds; nothing here is installed with it."""
