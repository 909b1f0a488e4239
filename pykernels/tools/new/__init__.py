"""Write new op folders, and packages of ops."""
