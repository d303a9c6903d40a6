"""What every room needs to address a reader: tables, paragraphs, and the name that was probably meant."""
