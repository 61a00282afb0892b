# Importing the module starts the library; nothing else of it is used.
