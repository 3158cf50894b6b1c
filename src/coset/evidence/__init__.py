"""What is known of an environment: evidence objects, and the engines that find them in the data."""
