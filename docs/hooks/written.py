"""Run by the plugin gen-files of mkdocs: the reference and the gallery, which are written from the sources."""

import sys
from pathlib import Path

import mkdocs_gen_files

sys.path.insert(0, str(Path(__file__).parent))
import gallery
import reference

for path, content in {**reference.pages(), **gallery.pages()}.items():
    with mkdocs_gen_files.open(path, "w" if isinstance(content, str) else "wb") as file:
        file.write(content)
