"""The Spark session and its environment: Java, clusters, shipped code, error texts."""
