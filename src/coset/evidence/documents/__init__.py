"""What people wrote about the data: documents cut into sections, what they name, and the rules they state."""
