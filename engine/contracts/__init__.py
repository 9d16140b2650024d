"""What rooms say to each other: executors, sessions, the mesh, profiles. Data and protocols."""
