"""Op folders: how they are found, loaded and watched."""
