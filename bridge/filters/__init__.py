"""What a receiver asks for in its source's filter-set: which records, and from where. Pure."""
