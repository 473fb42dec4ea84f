"""The documentation site: `make docs`, which is `python -m tools.site`.

- `pages` knows the pages: where each Markdown file of the repository goes on the site, and which page lists which.
- `staging` copies them into one folder with links that work there, and puts the lists into tables of contents.
- `reference` writes a page for each room of the package, with every public name, and one for the command line.
- `pictures` draws the pictures.
- `llms` writes llms.txt.

Sphinx builds the staged folder with the settings of docs/conf.py. Nothing is fetched: a site opens from a file.
"""
