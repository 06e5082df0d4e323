"""Ground truth of lakes, by brute force."""
