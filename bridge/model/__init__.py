"""Values that cross the borders between the folders; they import nothing of the product."""
