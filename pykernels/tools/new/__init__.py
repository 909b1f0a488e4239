"""New op folders, and packages of them."""
